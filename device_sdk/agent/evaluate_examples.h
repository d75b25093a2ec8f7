// What a device says of models that a plan with analytics evaluates on its examples (evaluation_lanes.h in proto):
// so many examples a step as a batch has, so that the agent stops between any two.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/agent/count_examples.h"
#include "device_sdk/agent/example_answer.h"
#include "device_sdk/agent/permuted_answers.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/predictor.h"
#include "proto/messages/evaluation_lanes.h"

namespace coterie {

class ExampleEvaluator final : public ExampleReader {
 public:
  // `size`: of the source; `seed` draws the examples where there are more than values_max, the orders in which columns
  // are permuted, and how the difference of two models is rounded. The rules are valid, and `models` are those that
  // they name. Errors: invalid_argument (a model does not fit them, evaluation_fit.h), too_large.
  static Result<ExampleEvaluator> create(const AnalyticsRules& rules, std::span<const Model> models, uint64_t size,
                                         uint64_t seed);

  bool finished() const override;
  // Also: conflict if an example's class is none of the rules'.
  Status step(ExampleSource& examples) override;
  const std::vector<float>& lanes() const override { return lanes_; }

 private:
  ExampleEvaluator(const AnalyticsRules& rules, std::vector<Predictor> models, uint64_t size, uint64_t seed);
  // Has each model answer the next examples, a batch at most.
  Status answer_next(ExampleSource& examples);
  // What a model has said of an example of this class and group; shares_ has its probabilities.
  void add(size_t model, uint32_t label, size_t group, const ExampleAnswer& answer);
  void finish();

  AnalyticsRules rules_;
  EvaluationLayout layout_;
  std::vector<Predictor> models_;
  uint64_t seed_;
  std::vector<uint64_t> drawn_;  // ascending
  size_t done_ = 0;
  std::vector<ScoredExamples> scored_;  // of each model each block of moments
  std::vector<float> lanes_, inputs_, outputs_;
  std::vector<double> shares_;               // of the classes, of one example
  std::optional<PermutedAnswers> permuted_;  // of a plan with importance
};

}  // namespace coterie
