// Histograms of activations out of a table that devices have filled (proto/messages/range_lanes.h), as the rules of a
// range read them. Arithmetic on what is published: it costs no privacy. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "proto/messages/activation_ranges.h"
#include "tools/model/activation_range.h"

namespace coterie {

// The table of a job with analytics of kind activation_ranges.
struct CountedRanges {
  Digest model;
  RangeRules rules;
  double noise_deviation = 0;               // of each lane
  std::vector<std::vector<double>> counts;  // of each tensor, by bin
};

// What each bin of a tensor weighs; of a normalised table the square of its sum, which is a share again.
//
// With noise a bin counts that chance does not reach in one table of twenty (reached_by_chance), and, from the
// outermost of these outwards, each next one that is above one and a half deviations: of a tail that thins out more is
// seen together than apart, and one bin too many costs a range little. From a square the noise's own is subtracted.
// Nothing is left below 0, nor further out. All are 0 where no bin stands out.
std::vector<double> range_weights(const RangeRules& rules, std::span<const double> counts, uint64_t lanes,
                                  double noise_deviation);

// The weights, spread evenly over their bins. The range ends with the outermost bins that have any, which is up to
// 1 / steps beyond the outermost value.
ActivationHistogram range_histogram(const RangeRules& rules, std::span<const double> weights);

// By the tensors' names. invalid_argument: a tensor has no bin that stands out of the noise, where the one around zero
// is not enough; or those that do hold less than nine tenths of all, as their noisy total says, or that total is noise
// itself. A range of them would cut what noise hides.
Result<ActivationHistograms> range_histograms(const CountedRanges& counted);

}  // namespace coterie
