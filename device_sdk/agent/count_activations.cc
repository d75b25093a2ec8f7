#include "device_sdk/agent/count_activations.h"

#include <algorithm>
#include <string>

#include "device_sdk/runtime/evaluation_fit.h"
#include "device_sdk/runtime/model_part.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/range_lanes.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 16;

}  // namespace

Result<ActivationCounter> ActivationCounter::create(const AnalyticsRules& rules, const Model& model, uint64_t size,
                                                    uint64_t seed) {
  COT_TRY(check_evaluated(rules, model));
  std::vector<uint32_t> tensors;
  for (const std::string& name : rules.evaluation->ranges->tensors) {
    COT_ASSIGN(const uint32_t tensor, find_activation(model.graph(), name));
    tensors.push_back(tensor);
  }
  return ActivationCounter(rules, model, std::move(tensors), size, seed);
}

ActivationCounter::ActivationCounter(const AnalyticsRules& rules, const Model& model, std::vector<uint32_t> tensors,
                                     uint64_t size, uint64_t seed)
    : rules_(rules),
      model_(model),
      tensors_(std::move(tensors)),
      drawn_(drawn_examples(size, rules.values_max, seed)),
      counts_(range_bins(*rules.evaluation->ranges)),
      lanes_(lane_count(rules)),
      inputs_(uint64_t{kBatch} * rules.input_values) {}

Status ActivationCounter::step(ExampleSource& examples) {
  if (done_ == 0) COT_TRY(begin_tensor());
  const size_t count = std::min<size_t>(kBatch, drawn_.size() - done_);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t index = drawn_[done_ + i];
    COT_TRY(check_has(examples, index));
    float target = 0;
    const Example::Place places[] = {std::span(inputs_).subspan(i * rules_.input_values, rules_.input_values)};
    COT_TRY(examples.read(index, Example(places, {&target, 1})));
  }
  const std::span<const float> inputs = std::span(inputs_).first(count * rules_.input_values);
  if (part_) {
    const std::span<float> outputs = std::span(outputs_).first(count * elements_);
    COT_TRY(part_->run({&inputs, 1}, count, outputs));
    this->count(outputs, count);
  } else {
    this->count(inputs, count);
  }
  done_ += count;
  if (done_ == drawn_.size()) finish_tensor();
  return {};
}

Status ActivationCounter::begin_tensor() {
  std::ranges::fill(counts_, 0);
  part_.reset();
  elements_ = rules_.input_values;
  if (tensors_[tensor_] == model_.graph().inputs[0]) return {};
  const auto failed = [this](const Error& error) {
    return error.with_context("tensor " + rules_.evaluation->ranges->tensors[tensor_]);
  };
  const Result<Model> part = model_ending_with(model_, tensors_[tensor_]);
  if (!part) return failed(part.error());
  Result<Predictor> predictor = Predictor::create(*part, kBatch);
  if (!predictor) return failed(predictor.error());
  part_ = std::move(*predictor);
  elements_ = elements(part->output_shape());
  outputs_.resize(kBatch * elements_);
  return {};
}

void ActivationCounter::count(std::span<const float> values, uint64_t examples) {
  const RangeRules& own = *rules_.evaluation->ranges;
  const uint64_t positions = range_positions(own, elements_);
  for (uint64_t i = 0; i < positions; ++i) {
    const uint64_t place = range_position(own, i, elements_);
    for (uint64_t example = 0; example < examples; ++example) {
      if (const auto bin = range_bin(own, values[example * elements_ + place])) ++counts_[*bin];
    }
  }
}

void ActivationCounter::finish_tensor() {
  const size_t bins = counts_.size();
  put_range(*rules_.evaluation->ranges, rules_.lane_max, counts_, std::span(lanes_).subspan(tensor_ * bins, bins));
  ++tensor_;
  done_ = 0;
}

}  // namespace coterie
