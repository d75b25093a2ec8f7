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

// What leads to one tensor of a model, asked for its values.
class Part {
 public:
  static Result<Part> create(const Model& model, uint32_t tensor) {
    const auto& inputs = model.graph().inputs;
    const auto input = std::ranges::find(inputs, tensor);
    Part part;
    if (input != inputs.end()) {
      part.input_ = static_cast<size_t>(input - inputs.begin());
      return part;
    }
    COT_ASSIGN(const Model ending, model_ending_with(model, tensor));
    COT_ASSIGN(part.predictor_, Predictor::create(ending, kBatch));
    part.width_ = elements(ending.output_shape());
    return part;
  }
  // Until the next run.
  Result<std::span<const float>> run(const std::vector<std::vector<float>>& inputs, uint64_t count) {
    if (!predictor_) return std::span<const float>(inputs[input_]);
    outputs_.resize(count * width_);
    const std::vector<std::span<const float>> views(inputs.begin(), inputs.end());
    COT_TRY(predictor_->run(views, count, outputs_));
    return std::span<const float>(outputs_);
  }

 private:
  Part() = default;

  size_t input_ = 0;                    // of the model, which the tensor is
  std::optional<Predictor> predictor_;  // where it is none
  uint64_t width_ = 0;
  std::vector<float> outputs_;
};

// Tells `each` the inputs of one batch after the other.
template <typename Each>
Status for_each_batch(const Model& model, ExampleSource& examples, uint64_t target_elements, const Each& each) {
  std::vector<std::vector<float>> inputs(model.graph().inputs.size());
  std::vector<float> target(target_elements);
  for (uint64_t from = 0; from < examples.size(); from += kBatch) {
    const uint64_t count = std::min<uint64_t>(kBatch, examples.size() - from);
    COT_TRY(read_inputs(model, examples, from, count, inputs, target));
    COT_TRY(each(inputs, count));
  }
  return {};
}

Status check_there_are_some(const ExampleSource& examples) {
  if (examples.size() == 0) return Error(ErrorCode::invalid_argument, "there are no examples");
  return {};
}

}  // namespace

Status for_each_activation(const Model& model, uint32_t tensor, ExampleSource& examples, uint64_t target_elements,
                           const ActivationSink& sink) {
  COT_TRY(check_there_are_some(examples));
  COT_ASSIGN(Part part, Part::create(model, tensor));
  return for_each_batch(model, examples, target_elements, [&](const auto& inputs, uint64_t count) -> Status {
    COT_ASSIGN(const std::span<const float> values, part.run(inputs, count));
    sink(values);
    return {};
  });
}

Status for_each_activation_pair(const Model& first, const Model& second, uint32_t tensor, ExampleSource& examples,
                                uint64_t target_elements, const ActivationPairSink& sink) {
  COT_TRY(check_there_are_some(examples));
  COT_ASSIGN(Part one, Part::create(first, tensor));
  COT_ASSIGN(Part other, Part::create(second, tensor));
  return for_each_batch(first, examples, target_elements, [&](const auto& inputs, uint64_t count) -> Status {
    COT_ASSIGN(const std::span<const float> values, one.run(inputs, count));
    COT_ASSIGN(const std::span<const float> others, other.run(inputs, count));
    sink(values, others);
    return {};
  });
}

}  // namespace coterie
