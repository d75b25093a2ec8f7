// Where the values within a model lie on a device's examples, for a plan with analytics of kind activation_ranges
// (range_lanes.h in proto): a tensor after the other, so many examples a step as a batch has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "device_sdk/agent/count_examples.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/predictor.h"

namespace coterie {

class ActivationCounter final : public ExampleReader {
 public:
  // `size`: of the source; `seed` draws the examples where there are more than values_max. The rules are valid, and
  // name `model`. Holds one part of the model at a time, from its input to the tensor. Errors: invalid_argument (the
  // model does not fit them, evaluation_fit.h).
  static Result<ActivationCounter> create(const AnalyticsRules& rules, const Model& model, uint64_t size,
                                          uint64_t seed);

  bool finished() const override { return tensor_ == tensors_.size() || drawn_.empty(); }
  // Also: too_large, or what else keeps the part that leads to a tensor from being computed.
  Status step(ExampleSource& examples) override;
  const std::vector<float>& lanes() const override { return lanes_; }

 private:
  ActivationCounter(const AnalyticsRules& rules, const Model& model, std::vector<uint32_t> tensors, uint64_t size,
                    uint64_t seed);
  Status begin_tensor();
  void count(std::span<const float> values, uint64_t examples);
  void finish_tensor();

  AnalyticsRules rules_;
  Model model_;
  std::vector<uint32_t> tensors_;  // of the model, in the rules' order
  std::vector<uint64_t> drawn_;    // ascending
  size_t tensor_ = 0, done_ = 0;   // the one that is counted, and its examples so far
  uint64_t elements_ = 0;          // of it in an example
  std::optional<Predictor> part_;  // that leads to it; none: it is the model's input
  std::vector<uint64_t> counts_;   // of it, by bin
  std::vector<float> lanes_, inputs_, outputs_;
};

}  // namespace coterie
