#include "tools/ranges/range_histogram.h"

#include <algorithm>
#include <cmath>

#include "proto/messages/range_lanes.h"
#include "scheduler/job/analytics_result.h"

namespace coterie {
namespace {

constexpr double kGrowing = 1.5;       // deviations
constexpr double kTotal = 1ull << 40;  // of a histogram's counts, about
// What has to be seen of all that the bins of a tensor hold; and how many of its deviations that is to be above.
constexpr double kSeenShareMin = .9, kAllErrorsMin = 4;

// The bins from `first` to `last` count, and none where first is above last.
struct Extent {
  size_t first = 1, last = 0;
};

Extent extent_of(std::span<const double> counts, uint64_t lanes, double noise) {
  const double certain = reached_by_chance(lanes, noise);
  const auto stands_out = [&](double count) { return count > certain; };
  const auto first = std::ranges::find_if(counts, stands_out);
  if (first == counts.end()) return {};
  const auto behind = std::find_if(counts.rbegin(), counts.rend(), stands_out).base();
  Extent extent{static_cast<size_t>(first - counts.begin()), static_cast<size_t>(behind - counts.begin()) - 1};
  while (extent.first > 0 && counts[extent.first - 1] > kGrowing * noise) --extent.first;
  while (extent.last + 1 < counts.size() && counts[extent.last + 1] > kGrowing * noise) ++extent.last;
  return extent;
}

// What a bin weighs, unbiased: of a square the noise's own is off.
double weight_of(const RangeRules& rules, double count, double noise) {
  return rules.is_normalised ? count * count - noise * noise : count;
}

// Whether noise hides what a range would have to hold. All bins together are known better than each of them: their
// weights add up to what there is, whatever the noise, give or take a deviation of what it adds to them.
bool is_hidden(const RangeRules& rules, std::span<const double> counts, std::span<const double> weights, double noise) {
  double all = 0, seen = 0;
  for (const double count : counts) all += weight_of(rules, count, noise);
  for (const double weight : weights) seen += weight;
  const auto bins = static_cast<double>(counts.size());
  const double error = rules.is_normalised ? noise * noise * std::sqrt(2 * bins) : noise * std::sqrt(bins);
  return all < kAllErrorsMin * error || seen < kSeenShareMin * all;
}

// Adds a weight that lies evenly between two values.
void spread(double weight, const BinBounds& over, const ActivationHistogram& histogram, std::vector<double>& to) {
  const double width = (histogram.high - histogram.low) / ActivationHistogram::kBins;
  const auto bin_at = [&](double value) {
    const double place = std::floor((value - histogram.low) / width);
    return static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(ActivationHistogram::kBins - 1)));
  };
  const size_t first = bin_at(over.low), last = bin_at(over.high);
  for (size_t bin = first; bin <= last; ++bin) {
    const double from = histogram.low + static_cast<double>(bin) * width;
    const double common = std::min(over.high, from + width) - std::max(over.low, from);
    to[bin] += weight * std::max(0.0, common) / (over.high - over.low);
  }
}

}  // namespace

std::vector<double> range_weights(const RangeRules& rules, std::span<const double> counts, uint64_t lanes,
                                  double noise_deviation) {
  std::vector<double> weights(counts.size());
  const Extent extent = extent_of(counts, lanes, noise_deviation);
  for (size_t bin = extent.first; bin <= extent.last; ++bin) {
    const double count = counts[bin];
    if (count <= 0) continue;
    weights[bin] = std::max(0.0, weight_of(rules, count, noise_deviation));
  }
  return weights;
}

ActivationHistogram range_histogram(const RangeRules& rules, std::span<const double> weights) {
  ActivationHistogram histogram;
  double all = 0;
  for (uint32_t bin = 0; bin < weights.size(); ++bin) {
    if (!(weights[bin] > 0)) continue;
    const BinBounds bounds = range_bounds(rules, bin);
    // What is around zero widens no range, unless there is nothing else.
    if (bin != magnitude_bins(rules)) {
      histogram.low = std::min(histogram.low, bounds.low);
      histogram.high = std::max(histogram.high, bounds.high);
    }
    all += weights[bin];
  }
  if (!(all > 0)) return histogram;
  const uint32_t middle = magnitude_bins(rules);
  if (histogram.low == histogram.high) {
    const BinBounds bounds = range_bounds(rules, middle);
    histogram.low = bounds.low;
    histogram.high = bounds.high;
  }
  std::vector<double> shares(ActivationHistogram::kBins);
  const double width = (histogram.high - histogram.low) / ActivationHistogram::kBins;
  for (uint32_t bin = 0; bin < weights.size(); ++bin) {
    if (!(weights[bin] > 0)) continue;
    if (bin != middle) {
      spread(weights[bin] / all, range_bounds(rules, bin), histogram, shares);
      continue;
    }
    // Most of it are zeros, as a relu leaves them.
    const auto at = static_cast<size_t>(std::max(0.0, std::floor(-histogram.low / width)));
    shares[std::min(at, ActivationHistogram::kBins - 1)] += weights[bin] / all;
  }
  for (size_t i = 0; i < shares.size(); ++i) {
    histogram.counts[i] = static_cast<uint64_t>(std::llround(shares[i] * kTotal));
  }
  return histogram;
}

Result<ActivationHistograms> range_histograms(const CountedRanges& counted) {
  const uint64_t lanes = uint64_t{range_bins(counted.rules)} * counted.rules.tensors.size();
  ActivationHistograms histograms;
  for (size_t tensor = 0; tensor < counted.rules.tensors.size(); ++tensor) {
    const std::string& name = counted.rules.tensors[tensor];
    const std::vector<double> weights =
        range_weights(counted.rules, counted.counts[tensor], lanes, counted.noise_deviation);
    const bool has_noise = counted.noise_deviation > 0;
    bool stands_out = false;
    for (uint32_t bin = 0; bin < weights.size(); ++bin) {
      stands_out = stands_out || (weights[bin] > 0 && !(has_noise && bin == magnitude_bins(counted.rules)));
    }
    if (!stands_out) {
      return Error(ErrorCode::invalid_argument,
                   "ranges: no bin of tensor " + name + " stands out of " +
                       (has_noise ? "the noise; ask more devices, or take fewer bins (steps) or a larger epsilon"
                                  : "zero: no device has counted"));
    }
    if (has_noise && is_hidden(counted.rules, counted.counts[tensor], weights, counted.noise_deviation)) {
      return Error(ErrorCode::invalid_argument,
                   "ranges: noise hides more than a tenth of where the values of tensor " + name +
                       " lie; ask more devices, or take fewer bins (steps) or a larger epsilon");
    }
    histograms.emplace(name, range_histogram(counted.rules, weights));
  }
  return histograms;
}

}  // namespace coterie
