#include "scheduler/job/analytics_result.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "proto/messages/analytics_lanes.h"
#include "scheduler/job/analytics_rules.h"

namespace coterie {
namespace {

void name_number_bin(const std::vector<double>& edges, size_t lane, CountedBin& bin) {
  if (lane > edges.size()) {
    bin.name = "missing";
    return;
  }
  if (lane > 0) bin.from = edges[lane - 1];
  if (lane < edges.size()) bin.to = edges[lane];
}

std::string category_name(const AnalyticsSettings& analytics, size_t lane, uint32_t categories) {
  if (lane == categories) return "other";
  return lane < analytics.categories.size() ? analytics.categories[lane] : std::to_string(lane);
}

DistinctCount distinct_in(std::span<const float> counts, double noise) {
  DistinctCount distinct{.buckets = counts.size(), .threshold = reached_by_chance(counts.size(), noise)};
  distinct.seen_from = distinct.threshold + kNormal95 * noise;
  distinct.occupied = static_cast<uint64_t>(
      std::ranges::count_if(counts, [&](float count) { return static_cast<double>(count) > distinct.threshold; }));
  if (distinct.occupied == distinct.buckets) return distinct;
  const auto m = static_cast<double>(distinct.buckets);
  const double load = std::log(m / static_cast<double>(distinct.buckets - distinct.occupied));
  const double error = kNormal95 * std::sqrt(m * (std::exp(load) - load - 1));
  distinct.estimate = m * load;
  // What occupies so many buckets is at least so many values.
  distinct.low = std::max(static_cast<double>(distinct.occupied), *distinct.estimate - error);
  // Nor is there a bound above, where noise may hide any number of values that few devices have.
  if (!(noise > 0)) distinct.high = *distinct.estimate + error;
  return distinct;
}

}  // namespace

// m Q(z) <= m / 2 exp(-z^2 / 2)
double reached_by_chance(uint64_t lanes, double noise) {
  return noise * std::sqrt(2 * std::log(10 * static_cast<double>(lanes)));
}

// What stands below bin j and in it, less q of all, has a deviation of sqrt(j (1 - q)^2 + (all - j) q^2) times a
// lane's.
QuantileRange quantile_in(const std::vector<double>& edges, std::span<const float> counts, double at, double noise,
                          double slack) {
  QuantileRange range{.quantile = at, .from = {}, .to = {}};
  const size_t bins = edges.size() + 1;
  double all = 0, below = 0;
  for (size_t j = 0; j < bins; ++j) all += static_cast<double>(counts[j]);
  if (!(all > 0)) return range;
  // Noise may lead the sums over a stretch that is nearly empty back below: the quantile may be anywhere up to there.
  std::optional<size_t> first;
  size_t last = 0;
  for (size_t j = 0; j < bins; ++j) {
    below += static_cast<double>(counts[j]);
    const auto under = static_cast<double>(j + 1), over = static_cast<double>(bins - j - 1);
    const double error = slack + kNormal95 * noise * std::sqrt(under * (1 - at) * (1 - at) + over * at * at);
    if (!first && below + error >= at * all) first = j;
    if (below - error < at * all) last = j + 1;
  }
  if (first && *first > 0) range.from = edges[*first - 1];
  if (last < edges.size()) range.to = edges[last];
  return range;
}

AnalyticsResult result_of(const AnalyticsSettings& analytics, std::span<const float> counts, double noise_deviation) {
  const AnalyticsRules rules = rules_of(analytics);
  COT_ASSERT(counts.size() == lane_count(rules));
  AnalyticsResult result{.noise_deviation = noise_deviation, .bins = {}, .quantiles = {}, .distinct = {}};
  if (rules.kind == AnalyticsKind::distinct) {
    result.distinct = distinct_in(counts, noise_deviation);
    return result;
  }
  const double error = kNormal95 * noise_deviation;
  for (size_t lane = 0; lane < counts.size(); ++lane) {
    CountedBin bin;
    if (rules.is_of_numbers()) name_number_bin(analytics.edges, lane, bin);
    else bin.name = category_name(analytics, lane, rules.categories);
    bin.count = static_cast<double>(counts[lane]);
    bin.low = noise_deviation > 0 ? std::max(0.0, bin.count - error) : bin.count;
    bin.high = noise_deviation > 0 ? std::max(0.0, bin.count + error) : bin.count;
    result.bins.push_back(std::move(bin));
  }
  for (const double at : analytics.quantiles) {
    result.quantiles.push_back(quantile_in(analytics.edges, counts, at, noise_deviation));
  }
  return result;
}

}  // namespace coterie
