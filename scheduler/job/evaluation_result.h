// What a table of kind evaluation says (proto/messages/evaluation_lanes.h): how good the models are on all examples
// together, with intervals in which devices are the draws; per group, per class; how much each column is worth; and
// which of two is better. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "scheduler/job/analytics_settings.h"
#include "scheduler/job/importance_result.h"
#include "scheduler/job/ratio_estimate.h"

namespace coterie {

struct ScoredGroup {
  std::string name;  // of a category; "other"; empty: all examples
  double devices = 0, examples = 0, correct = 0;
  std::optional<RatioEstimate> accuracy, loss;  // none: no examples
};

// The area under the curve of a class's probability against the others, of all examples together. It lies in
// [low, high] for certain: scores in one bin may be in any order.
struct AreaUnderCurve {
  std::string of_class;
  double low = 0, high = 0;
};

struct EvaluatedModelResult {
  Digest model;
  ScoredGroup all;
  std::vector<ScoredGroup> groups;
  std::vector<std::vector<double>> confusion;  // by the example's class, then by the model's; the last: no answer
  std::vector<AreaUnderCurve> areas;           // of classes that have examples, and others besides
  std::vector<double> accuracies;              // devices by their own accuracy, in bins of equal width
  // A tenth of the devices have an accuracy of at most something in [from, to]. None: no devices.
  struct Range {
    double from = 0, to = 0;
  };
  std::optional<Range> worst_tenth;
  std::vector<ColumnImportance> importance;  // in the job's order; empty where it asks for none
};

// better, worse: of the new model; each is wrong in 25 of 1,000 comparisons of models that are as good as each other,
// however often one looks (betting_capital.h).
enum class ComparisonVerdict : uint8_t { not_shown, worse, better };
std::string_view to_string(ComparisonVerdict verdict);

struct Comparison {
  double devices = 0;
  double harm = 0;           // the mean of accuracy before - new, cut to +-harm_max, over devices
  double low = 0, high = 0;  // the true mean harm, at all looks together, in 95 of 100 comparisons
  ComparisonVerdict verdict = ComparisonVerdict::not_shown;
};
// `counts`: devices at each step of the difference. They are all that the test looks at: its capital is a product over
// devices, so that the order in which they came, and with whom, is no part of it. So sums of rounds are enough.
Comparison compare(std::span<const double> counts, double harm_max);

struct EvaluationResult {
  std::vector<EvaluatedModelResult> models;
  std::optional<Comparison> comparison;
};

// `counts` has lane_count(rules_of(analytics)) values. Precondition: the settings are valid, of kind evaluation.
EvaluationResult evaluation_result_of(const AnalyticsSettings& analytics, std::span<const float> counts);

}  // namespace coterie
