#include "device_sdk/agent/permuted_answers.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "proto/messages/evaluation_lanes.h"

namespace coterie {

PermutedAnswers::PermutedAnswers(const AnalyticsRules& rules, uint64_t examples, uint64_t seed)
    : rules_(*rules.evaluation->importance),
      input_values_(rules.input_values),
      classes_(rules.evaluation->classes),
      inputs_(examples, rules.input_values, seed),
      rises_(rules_.columns.size()),
      shares_(classes_) {
  labels_.reserve(examples);
  inputs_.shuffle();
}

void PermutedAnswers::keep(std::span<const float> input, uint32_t label, const ExampleAnswer& answer) {
  std::ranges::copy(input, inputs_.kept(labels_.size()).begin());
  labels_.push_back(label);
  loss_ += answer.loss;
  correct_ += answer.predicted == label ? 1 : 0;
}

Status PermutedAnswers::step(Predictor& model, uint32_t batch) {
  COT_ASSERT(!finished() && labels_.size() == inputs_.examples());
  const auto count = static_cast<size_t>(std::min<uint64_t>(batch, inputs_.examples() - done_));
  batch_inputs_.resize(count * input_values_);
  batch_outputs_.resize(count * classes_);
  const PermutedColumn& column = rules_.columns[column_];
  for (size_t i = 0; i < count; ++i) {
    const std::span<float> input = std::span(batch_inputs_).subspan(i * input_values_, input_values_);
    std::ranges::copy(inputs_.kept(done_ + i), input.begin());
    inputs_.permute(done_ + i, column.feature, column.width, input);
  }
  const std::span<const float> inputs = batch_inputs_;
  COT_TRY(model.run({&inputs, 1}, count, batch_outputs_));
  for (size_t i = 0; i < count; ++i) {
    const uint32_t label = labels_[done_ + i];
    const auto output = std::span<const float>(batch_outputs_).subspan(i * classes_, classes_);
    const ExampleAnswer answer = answer_of(output, label, shares_);
    loss_rise_ += answer.loss;
    error_rise_ -= answer.predicted == label ? 1 : 0;
  }
  done_ += count;
  if (done_ == inputs_.examples()) next_order();
  return {};
}

void PermutedAnswers::next_order() {
  done_ = 0;
  loss_rise_ -= loss_;
  error_rise_ += correct_;
  if (++repeat_ == rules_.repeats) {
    // Rounded once: a device's own rounding is below a unit, whatever it has of examples.
    const auto most = static_cast<int64_t>(inputs_.examples() * rules_.repeats * kLossMax * kLossUnits);
    rises_[column_] = {.loss = std::clamp<int64_t>(std::llround(loss_rise_ * kLossUnits), -most, most),
                       .errors = error_rise_};
    loss_rise_ = 0;
    error_rise_ = 0;
    repeat_ = 0;
    ++column_;
  }
  if (!finished()) inputs_.shuffle();
}

}  // namespace coterie
