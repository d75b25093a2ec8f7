#include "device_sdk/c_api/source_dataset.h"

#include <vector>

namespace coterie {
namespace {

// The app may call these, too.
uint64_t size_of_source(void* context) { return static_cast<ExampleSource*>(context)->size(); }

int read_from_source(void* context, uint64_t index, float* features, size_t feature_count, int32_t* label) {
  const Example::Place input(features, feature_count);
  const Example to({&input, 1}, {reinterpret_cast<float*>(label), 1});
  return static_cast<ExampleSource*>(context)->read(index, to) ? 0 : 1;
}

int read_example_from_source(void* context, uint64_t index, const coterie_example* example) {
  std::vector<Example::Place> inputs;
  for (size_t i = 0; i < example->input_count; ++i) {
    inputs.emplace_back(example->inputs[i].floats, example->inputs[i].count);
  }
  const Example to(inputs, {example->target.floats, example->target.count});
  return static_cast<ExampleSource*>(context)->read(index, to) ? 0 : 1;
}

}  // namespace

coterie_dataset dataset_of(ExampleSource& source) {
  coterie_dataset dataset{};
  dataset.context = &source;
  dataset.size = &size_of_source;
  dataset.read = &read_from_source;
  dataset.read_example = &read_example_from_source;
  return dataset;
}

ExampleSource* source_of(const coterie_dataset& dataset) {
  return dataset.read == &read_from_source ? static_cast<ExampleSource*>(dataset.context) : nullptr;
}

}  // namespace coterie
