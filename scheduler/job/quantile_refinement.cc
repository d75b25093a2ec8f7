#include "scheduler/job/quantile_refinement.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace coterie {
namespace {

constexpr double kDeviations = 3;      // of the noise, and of what two rounds of other devices differ by
constexpr double kSteps = 0x1p-21;     // four of float32, relative to the number
constexpr double kLeastWidth = 1e-30;  // of a bin around 0, in deviations of the column

struct Stretch {
  double low = 0, high = 0;
  double width() const { return high - low; }
};

double rank_slack(const AnalyticsSettings& analytics, std::span<const float> counts, double at) {
  double all = 0;
  for (size_t i = 0; i + 1 < counts.size(); ++i) all += std::max(0.0, static_cast<double>(counts[i]));
  // A round's share below the quantile has the deviation sqrt(q (1 - q) / n), and two of them differ.
  const double examples = std::max<double>(1, analytics.rules.lane_max);  // of one device, which may all be alike
  return kDeviations * std::sqrt(2 * at * (1 - at) * all * examples);
}

// How far apart two edges about here have to be, to differ as float32: as the column has them and as examples do.
double step_at(double x, const AnalyticsSettings& analytics) {
  return std::max(kSteps * std::max(std::abs(x), std::abs(x - analytics.mean)), kLeastWidth * analytics.deviation);
}

Stretch widened(Stretch stretch, const AnalyticsSettings& analytics, double edges) {
  const double least = edges * std::max(step_at(stretch.low, analytics), step_at(stretch.high, analytics));
  const double more = (least - stretch.width()) / 2;
  return more > 0 ? Stretch{stretch.low - more, stretch.high + more} : stretch;
}

// Where no bound is known: up to the first round's edges, or where the round had these, as far again.
Stretch bounded(const QuantileRange& range, std::span<const double> edges, std::span<const double> first) {
  const double low = edges.front(), high = edges.back(), span = first.back() - first.front();
  return {.low = range.from            ? *range.from
                 : low > first.front() ? first.front()
                                       : low - span,
          .high = range.to              ? *range.to
                  : high < first.back() ? first.back()
                                        : high + span};
}

// What of the range lies in the stretch; the range, if nothing does.
QuantileRange within(const QuantileRange& range, const QuantileRange& stretch) {
  QuantileRange common = range;
  if (stretch.from) common.from = std::max(range.from.value_or(*stretch.from), *stretch.from);
  if (stretch.to) common.to = std::min(range.to.value_or(*stretch.to), *stretch.to);
  return common.from && common.to && *common.from >= *common.to ? range : common;
}

// Those that touch are one.
std::vector<std::pair<Stretch, uint32_t>> merged(std::vector<Stretch> stretches, const AnalyticsSettings& analytics) {
  std::ranges::sort(stretches, {}, &Stretch::low);
  std::vector<std::pair<Stretch, uint32_t>> all;
  for (const Stretch& stretch : stretches) {
    if (all.empty() || stretch.low > all.back().first.high + step_at(stretch.low, analytics)) {
      all.emplace_back(stretch, 1);
      continue;
    }
    all.back().first.high = std::max(all.back().first.high, stretch.high);
    ++all.back().second;
  }
  return all;
}

}  // namespace

RefinedEdges first_edges(const AnalyticsSettings& analytics) {
  RefinedEdges first{.edges = analytics.edges, .stretches = {}};
  for (const double at : analytics.quantiles) first.stretches.push_back({.quantile = at, .from = {}, .to = {}});
  return first;
}

RefinedEdges refined_edges(const AnalyticsSettings& analytics, const RefinedEdges& asked, std::span<const float> counts,
                           double noise, bool asks_others) {
  const size_t count = asked.edges.size();
  RefinedEdges next;
  std::vector<Stretch> stretches;
  for (const QuantileRange& looked : asked.stretches) {
    const double slack = asks_others ? rank_slack(analytics, counts, looked.quantile) : 0;
    const double error =
        noise * kDeviations / kNormal95;  // quantile_in allows for as many deviations as 95 of 100 have
    const QuantileRange range = quantile_in(asked.edges, counts, looked.quantile, error, slack);
    const Stretch stretch = bounded(within(range, looked), asked.edges, analytics.edges);
    stretches.push_back(widened(stretch, analytics, static_cast<double>(count)));
    next.stretches.push_back({looked.quantile, stretches.back().low, stretches.back().high});
  }
  size_t told = 0;
  for (const auto& [stretch, quantiles] : merged(stretches, analytics)) {
    told += quantiles;
    // Up to here as large a part of the edges as of the quantiles: the last stretch has what rounding left.
    const size_t own = count * told / stretches.size() - next.edges.size();
    const double width = stretch.width() / static_cast<double>(own - 1);
    for (size_t i = 0; i + 1 < own; ++i) next.edges.push_back(stretch.low + width * static_cast<double>(i));
    next.edges.push_back(stretch.high);
  }
  return next;
}

std::vector<QuantileRange> refined_ranges(const AnalyticsSettings& analytics, const RefinedEdges& asked,
                                          std::span<const float> counts, double noise) {
  std::vector<QuantileRange> ranges;
  for (size_t i = 0; i < analytics.quantiles.size(); ++i) {
    const QuantileRange range = quantile_in(asked.edges, counts, analytics.quantiles[i], noise);
    ranges.push_back(within(range, asked.stretches[i]));
  }
  return ranges;
}

}  // namespace coterie
