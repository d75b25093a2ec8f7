// How sure the figures of a report are: 95 % intervals over the examples that could have been drawn instead. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/model_report/example_scores.h"

namespace coterie {

struct MeasureInterval {
  std::string name;  // "loss", "accuracy", or that of a Measure
  double low = 0, high = 0;
};

// Those that there are:
//
//   loss, mae        the mean over examples, by Student's t
//   perplexity       exp of the loss's ends; rmse the square root of those of the mean squared error
//   accuracy         Wilson's score; `right` is of nothing where the model is no classifier
//   auc              DeLong's variance (tools/compare/rank_area.h)
//
// A figure that is not the one that `scores` come to (a loss of another kind, rows that are counted one by one) has no
// interval, nor has one that is not finite. `unit`: as measure() was told.
std::vector<MeasureInterval> measure_intervals(const ExampleScores& scores, const Evaluation& evaluation,
                                               std::span<const Measure> measures, const SeenShare& right, double unit);

// Null: that figure has none.
const MeasureInterval* find_interval(std::span<const MeasureInterval> intervals, std::string_view name);

}  // namespace coterie
