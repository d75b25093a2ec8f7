#include "tools/model_report/measure_intervals.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tools/compare/rank_area.h"

namespace coterie {
namespace {

constexpr double kSameMost = 1e-4;  // between sums in float and in double

bool is_same(double figure, double computed) {
  return std::fabs(figure - computed) <= kSameMost * std::max(1.0, std::fabs(figure));
}

std::optional<MeanInterval> finite_mean(std::span<const double> values) {
  if (values.size() < 2 || !std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) {
    return std::nullopt;
  }
  return mean_interval(values);
}

std::optional<ShareInterval> ends(const std::optional<MeanInterval>& mean) {
  if (!mean) return std::nullopt;
  return ShareInterval{mean->mean - *mean->half_width, mean->mean + *mean->half_width};
}

std::optional<ShareInterval> interval_of(const ExampleScores& scores, const Measure& measure, double unit) {
  const std::optional<MeanInterval> loss = finite_mean(scores.losses());
  if (!loss) return std::nullopt;
  if (measure.name == "perplexity" && is_same(std::log(measure.value), loss->mean)) {
    return ShareInterval{std::exp(loss->mean - *loss->half_width), std::exp(loss->mean + *loss->half_width)};
  }
  if (measure.name == "rmse" && is_same(measure.value, unit * std::sqrt(loss->mean))) {
    return ShareInterval{unit * std::sqrt(std::max(0.0, loss->mean - *loss->half_width)),
                         unit * std::sqrt(loss->mean + *loss->half_width)};
  }
  if (measure.name == "mae" && scores.is_of_numbers()) {
    const std::optional<MeanInterval> distance = finite_mean(scores.distances());
    if (distance && is_same(measure.value, unit * distance->mean)) {
      return ShareInterval{unit * ends(distance)->low, unit * ends(distance)->high};
    }
  }
  if (measure.name == "auc") {
    const std::optional<RankArea> area = rank_area(scores.margins(1), scores.margins(0));
    if (area && is_same(measure.value, area->area)) return ShareInterval{area->low, area->high};
  }
  return std::nullopt;
}

}  // namespace

std::vector<MeasureInterval> measure_intervals(const ExampleScores& scores, const Evaluation& evaluation,
                                               std::span<const Measure> measures, const SeenShare& right, double unit) {
  std::vector<MeasureInterval> intervals;
  const std::optional<MeanInterval> loss = finite_mean(scores.losses());
  if (loss && is_same(evaluation.loss_mean, loss->mean)) {
    intervals.push_back({"loss", std::max(0.0, ends(loss)->low), ends(loss)->high});
  }
  if (right.of > 0) {
    const ShareInterval accuracy = wilson_interval(right);
    intervals.push_back({"accuracy", accuracy.low, accuracy.high});
  }
  for (const Measure& measure : measures) {
    const std::optional<ShareInterval> ends = interval_of(scores, measure, unit);
    if (ends) intervals.push_back({measure.name, ends->low, ends->high});
  }
  return intervals;
}

const MeasureInterval* find_interval(std::span<const MeasureInterval> intervals, std::string_view name) {
  const auto found = std::ranges::find(intervals, name, &MeasureInterval::name);
  return found == intervals.end() ? nullptr : &*found;
}

}  // namespace coterie
