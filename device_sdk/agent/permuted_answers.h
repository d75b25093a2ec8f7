// How much worse a model is without a column, as a device finds it (importance_lanes.h in proto): it permutes the
// column's values among the examples that it evaluates, and has the model answer them again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/agent/example_answer.h"
#include "device_sdk/runtime/permuted_inputs.h"
#include "device_sdk/runtime/predictor.h"
#include "proto/messages/analytics.h"
#include "proto/messages/importance_lanes.h"

namespace coterie {

// Not thread-safe.
class PermutedAnswers {
 public:
  // Room for so many examples, values_max at most; the seed draws every order. The rules are valid, with importance.
  PermutedAnswers(const AnalyticsRules& rules, uint64_t examples, uint64_t seed);

  // The next example as it is, and what the model has answered. Precondition: there are fewer than there is room for.
  void keep(std::span<const float> input, uint32_t label, const ExampleAnswer& answer);

  // All columns are through. Without examples there is nothing to do.
  bool finished() const { return column_ == rules_.columns.size() || inputs_.examples() == 0; }
  // Has the model answer the next examples of an order, a batch at most. Precondition: all examples are kept, and it is
  // not finished.
  Status step(Predictor& model, uint32_t batch);

  // One a column, when it is finished.
  const std::vector<RiseSums>& rises() const { return rises_; }

 private:
  void next_order();

  ImportanceRules rules_;
  uint32_t input_values_, classes_;
  PermutedInputs inputs_;
  std::vector<uint32_t> labels_;
  double loss_ = 0;  // of all examples as they are
  int64_t correct_ = 0;
  size_t column_ = 0;
  uint32_t repeat_ = 0;
  uint64_t done_ = 0;     // examples of this order
  double loss_rise_ = 0;  // of this column so far
  int64_t error_rise_ = 0;
  std::vector<RiseSums> rises_;
  std::vector<float> batch_inputs_, batch_outputs_;
  std::vector<double> shares_;
};

}  // namespace coterie
