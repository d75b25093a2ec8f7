// What a table of counts says: its bins with the error that noise leaves, quantiles, how many values are distinct.
// Arithmetic on what is published: it costs no privacy. Pure.
//
// Intervals hold in 95 of 100 cases, by the noise alone. They say nothing of devices that were not asked, nor of
// examples that values_max has left out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/job/analytics_settings.h"

namespace coterie {

inline constexpr double kNormal95 = 1.959963984540054;  // 95 of 100 normal numbers are within so many deviations

struct CountedBin {
  std::optional<double> from, to;  // of numbers, in the column's unit: from <= value < to; none: no bound
  std::string name;                // of a category, and of the last lane: "missing", "other"
  double count = 0;
  double low = 0, high = 0;  // the true count, with the noise's error
};

// The quantile lies in [from, to). That is as near as the edges tell; with noise it may be several bins.
struct QuantileRange {
  double quantile = 0;
  std::optional<double> from, to;
};

// Linear counting (Whang, Vander-Zanden and Taylor 1990): -m ln(empty / m) of m buckets. Values that share a bucket are
// corrected for, with a standard error of sqrt(m (e^t - t - 1)), t = values / m.
struct DistinctCount {
  uint64_t buckets = 0, occupied = 0;
  double threshold = 0;  // a bucket with this count at most is taken for empty; 0 without noise
  double seen_from = 0;  // a value that so many devices have or more is seen in 97 of 100 cases; 0 without noise
  // Without noise the number of values, and its interval. With noise the estimate is of the values that are seen, as
  // frequent ones are, and `low` holds for all; there is no `high`. None: no bucket is empty, take more.
  std::optional<double> estimate, low, high;
};

struct AnalyticsResult {
  double noise_deviation = 0;  // of each count
  std::vector<CountedBin> bins;
  std::vector<QuantileRange> quantiles;
  std::optional<DistinctCount> distinct;
};

// A count that in 95 of 100 cases none of so many lanes reaches in which nobody is, with noise of this deviation.
double reached_by_chance(uint64_t lanes, double noise);

// The bins in which a quantile may lie, for 95 of 100 draws of the noise; and for ranks that are off by `slack`
// examples at most. `counts`: below the first edge, between each two, from the last on; what follows is not looked at.
QuantileRange quantile_in(const std::vector<double>& edges, std::span<const float> counts, double at, double noise,
                          double slack = 0);

// `counts` has lane_count(rules_of(analytics)) values; `noise_deviation`: of the noise in each. Precondition: the
// settings are valid.
AnalyticsResult result_of(const AnalyticsSettings& analytics, std::span<const float> counts, double noise_deviation);

}  // namespace coterie
