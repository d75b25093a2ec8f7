#include "scheduler/job/evaluation_result.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/assert.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/evaluation_lanes.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/rollout/betting_capital.h"

namespace coterie {
namespace {

constexpr double kOneSided = 0.025;  // of an interval's end

std::string name_of_class(const AnalyticsSettings& analytics, uint32_t index) {
  return index < analytics.classes.size() ? analytics.classes[index] : std::to_string(index);
}

// A table of one job: what reads it needs all three.
struct Table {
  const AnalyticsSettings& analytics;
  AnalyticsRules rules;  // of these
  EvaluationLayout layout;
  std::span<const float> counts;
  double at(uint64_t lane) const { return static_cast<double>(counts[lane]); }
  double devices_at(uint64_t lane) const { return at(lane) / static_cast<double>(layout.device_unit()); }
};

ScoredGroup group_in(const Table& table, size_t model, size_t group) {
  const auto moment = [&](Moment which) { return moment_in(table.layout, model, group, which, table.counts); };
  const double devices = devices_in(table.layout, model, group, table.counts);
  const double n = moment(Moment::n), nn = moment(Moment::nn);
  ScoredGroup scored{
      .name = {}, .devices = devices, .examples = n, .correct = moment(Moment::y), .accuracy = {}, .loss = {}};
  scored.accuracy = ratio_estimate(
      {.devices = devices, .n = n, .y = scored.correct, .nn = nn, .ny = moment(Moment::ny), .yy = moment(Moment::yy)},
      0, 1);
  constexpr double kUnits = kLossUnits;
  scored.loss = ratio_estimate({.devices = devices,
                                .n = n,
                                .y = moment(Moment::l) / kUnits,
                                .nn = nn,
                                .ny = moment(Moment::nl) / kUnits,
                                .yy = moment(Moment::ll) / (kUnits * kUnits)},
                               0, kLossMax);
  return scored;
}

// Pairs of an example of the class and one of another: those that the bins put in order, and those of one bin.
std::optional<AreaUnderCurve> area_in(const Table& table, size_t model, size_t index) {
  // The area is the share of pairs in order. Nobody knows the order of a pair within one bin: such pairs make the
  // bounds.
  double ordered = 0, tied = 0, others = 0, own = 0;
  for (uint32_t bin = 0; bin < table.rules.evaluation->score_bins; ++bin) {
    const double of_class = table.at(table.layout.score(model, index, true, bin));
    const double of_others = table.at(table.layout.score(model, index, false, bin));
    ordered += of_class * others;
    tied += of_class * of_others;
    others += of_others;
    own += of_class;
  }
  if (!(own > 0) || !(others > 0)) return std::nullopt;
  return AreaUnderCurve{.of_class = name_of_class(table.analytics, table.layout.scored_class(index)),
                        .low = ordered / (own * others),
                        .high = (ordered + tied) / (own * others)};
}

std::optional<EvaluatedModelResult::Range> worst_tenth_of(const std::vector<double>& accuracies) {
  double all = 0, below = 0;
  for (const double devices : accuracies) all += devices;
  constexpr double kWidth = 1.0 / kAccuracyBins;
  for (size_t bin = 0; bin < accuracies.size(); ++bin) {
    below += accuracies[bin];
    const auto at = static_cast<double>(bin);
    if (below > 0 && below >= all / 10) return EvaluatedModelResult::Range{at * kWidth, (at + 1) * kWidth};
  }
  return std::nullopt;
}

EvaluatedModelResult model_in(const Table& table, size_t model) {
  const EvaluationRules& rules = *table.rules.evaluation;
  EvaluatedModelResult result{.model = rules.models[model].digest, .all = group_in(table, model, 0)};
  const std::vector<std::string>& categories = table.analytics.categories;
  for (size_t group = 1; group < table.layout.groups(); ++group) {
    result.groups.push_back(group_in(table, model, group));
    result.groups.back().name = group <= categories.size() ? categories[group - 1] : "other";
  }
  for (uint32_t of_class = 0; of_class < rules.classes; ++of_class) {
    std::vector<double>& row = result.confusion.emplace_back();
    for (uint32_t predicted = 0; predicted <= rules.classes; ++predicted) {
      row.push_back(table.at(table.layout.confusion(model, of_class, predicted)));
    }
  }
  for (size_t index = 0; index < table.layout.scored_classes(); ++index) {
    if (std::optional<AreaUnderCurve> area = area_in(table, model, index)) result.areas.push_back(*std::move(area));
  }
  for (uint32_t bin = 0; bin < kAccuracyBins; ++bin) {
    result.accuracies.push_back(table.devices_at(table.layout.accuracy(model, bin)));
  }
  result.worst_tenth = worst_tenth_of(result.accuracies);
  result.importance = importance_of(table.analytics, table.layout, table.counts);
  return result;
}

// A step as a value in [0, 1]: no harm is 1/2.
double value_of(size_t step, size_t steps) { return static_cast<double>(step) / static_cast<double>(steps - 1); }

// The evidence against "the mean is at most `mean`", of the values or of their mirror images.
double evidence_above(double mean, std::span<const double> counts, bool mirrored) {
  BettingCapital capital(mean);
  for (size_t step = 0; step < counts.size(); ++step) {
    const double value = value_of(step, counts.size());
    if (counts[step] > 0) capital.bet(mirrored ? 1 - value : value, counts[step]);
  }
  return capital.log();
}

// The highest mean against which the evidence is enough: it falls as the mean grows. 0: there is none.
double lower_end(std::span<const double> counts, bool mirrored) {
  constexpr int kHalvings = 30;
  const double enough = -std::log(kOneSided);
  double low = 0, high = 1;
  // 2^-30 of the range is below what a device's step can say.
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (evidence_above(middle, counts, mirrored) >= enough ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::string_view to_string(ComparisonVerdict verdict) {
  constexpr std::string_view kNames[] = {"not_shown", "worse", "better"};
  return kNames[static_cast<size_t>(verdict)];
}

Comparison compare(std::span<const double> counts, double harm_max) {
  Comparison comparison{.low = -harm_max, .high = harm_max};
  const auto harm_of = [&](double value) { return (2 * value - 1) * harm_max; };
  double sum = 0;
  for (size_t step = 0; step < counts.size(); ++step) {
    comparison.devices += counts[step];
    sum += counts[step] * harm_of(value_of(step, counts.size()));
  }
  if (!(comparison.devices > 0)) return comparison;
  comparison.harm = sum / comparison.devices;
  comparison.low = harm_of(lower_end(counts, false));
  comparison.high = harm_of(1 - lower_end(counts, true));
  if (comparison.low > 0) comparison.verdict = ComparisonVerdict::worse;
  if (comparison.high < 0) comparison.verdict = ComparisonVerdict::better;
  return comparison;
}

EvaluationResult evaluation_result_of(const AnalyticsSettings& analytics, std::span<const float> counts) {
  const AnalyticsRules rules = rules_of(analytics);
  const Table table{analytics, rules, EvaluationLayout(rules), counts};
  COT_ASSERT(counts.size() == table.layout.lanes());
  EvaluationResult result;
  for (size_t model = 0; model < table.layout.models(); ++model) result.models.push_back(model_in(table, model));
  if (table.layout.models() < 2) return result;
  std::vector<double> differences;
  for (int32_t step = -kDifferenceSteps; step <= kDifferenceSteps; ++step) {
    differences.push_back(table.devices_at(table.layout.difference(step)));
  }
  result.comparison = compare(differences, static_cast<double>(analytics.rules.evaluation->harm_max));
  return result;
}

}  // namespace coterie
