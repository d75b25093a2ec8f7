#include "tools/model/partial_model.h"

#include <algorithm>
#include <optional>

#include "device_sdk/runtime/model_part.h"
#include "device_sdk/runtime/predictor.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 32;

// The inputs of `count` examples from `from` on, one behind the other.
Status read_inputs(const Model& model, ExampleSource& examples, uint64_t from, uint64_t count,
                   std::vector<std::vector<float>>& inputs, std::vector<float>& target) {
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].resize(count * elements(model.input_shape(i)));
  for (uint64_t slot = 0; slot < count; ++slot) {
    std::vector<Example::Place> places;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const uint64_t size = elements(model.input_shape(i));
      places.push_back(std::span(inputs[i]).subspan(slot * size, size));
    }
    COT_TRY(examples.read(from + slot, Example(places, target)));
  }
  return {};
}

}  // namespace

Status for_each_activation(const Model& model, uint32_t tensor, ExampleSource& examples, uint64_t target_elements,
                           const ActivationSink& sink) {
  if (examples.size() == 0) return Error(ErrorCode::invalid_argument, "there are no examples");
  const auto& inputs_of_model = model.graph().inputs;
  const auto input = std::ranges::find(inputs_of_model, tensor);
  const bool is_input = input != inputs_of_model.end();
  std::optional<Model> part;
  std::optional<Predictor> predictor;
  if (!is_input) {
    COT_ASSIGN(part, model_ending_with(model, tensor));
    COT_ASSIGN(predictor, Predictor::create(*part, kBatch));
  }
  std::vector<std::vector<float>> inputs(inputs_of_model.size());
  std::vector<float> target(target_elements), outputs;
  for (uint64_t from = 0; from < examples.size(); from += kBatch) {
    const uint64_t count = std::min<uint64_t>(kBatch, examples.size() - from);
    COT_TRY(read_inputs(model, examples, from, count, inputs, target));
    if (is_input) {
      sink(inputs[static_cast<size_t>(input - inputs_of_model.begin())]);
      continue;
    }
    outputs.resize(count * elements(part->output_shape()));
    const std::vector<std::span<const float>> views(inputs.begin(), inputs.end());
    COT_TRY(predictor->run(views, count, outputs));
    sink(outputs);
  }
  return {};
}

}  // namespace coterie
