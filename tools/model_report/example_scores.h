// What a model says of each example by itself: its loss, and how far it is from what was to be said. Intervals of a
// report's figures and its membership drill are made of these.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/model.h"
#include "tools/compare/statistics.h"
#include "tools/model/measure.h"
#include "tools/model_report/class_answers.h"

namespace coterie {

// Shown the outputs of an Evaluator in their order. An example's loss is the mean over its rows:
//
//   of classes   -log of the probability of the row's class, by softmax as class_sink has it
//   of numbers   the squared difference to the target, as the data have it
//
// A loss that is no number (the model gave no answer) is infinite.
class ExampleScores {
 public:
  // None where the model has neither: `model` says one number a target, or a score each class. `targets`: elements of
  // an example's target.
  static std::optional<ExampleScores> of(const Model& model, const LossSettings& loss, uint64_t targets);

  void add(std::span<const float> outputs, std::span<const float> targets);

  const std::vector<double>& losses() const { return losses_; }
  bool is_of_numbers() const { return is_of_numbers_; }
  // |said - target|, the mean over an example's targets; of numbers alone.
  const std::vector<double>& distances() const { return distances_; }
  // The second class's score less the first's, by the class that it is; of two classes alone.
  const std::vector<double>& margins(size_t of_class) const { return margins_[of_class]; }

 private:
  double class_loss(std::span<const float> scores, uint32_t label);

  size_t width_ = 1, targets_ = 1;
  bool is_of_numbers_ = false;
  ScoreKind kind_ = ScoreKind::logits;
  std::vector<double> losses_, distances_, probabilities_;
  std::vector<double> margins_[2];
};

}  // namespace coterie
