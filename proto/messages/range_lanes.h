// What RangeRules mean: the lanes of the table, in which of them a value counts, how far one device moves them.
//
// A device runs the model on `values_max` of its examples at most, drawn at random where it has more. A table has for
// each tensor, in the rules' order, 2 M + 1 bins in the order of the values, with M = (exponent_high - exponent_low) *
// steps:
//
//   M of negative values   the largest magnitudes first
//   one around zero        magnitudes below 2^exponent_low
//   M of positive values   the smallest first
//
// An octave from 2^e to 2^(e+1) has `steps` bins of equal width, which are the upper bits of a float32: whoever counts
// agrees to the bit. Magnitudes from 2^exponent_high on count in the outermost bins. What is no finite number counts
// nowhere.
//
// Where a tensor has more values than `positions` in an example, so many of them count: one of each stretch of equal
// length, at a place that a public hash says. It is the same place in all examples on all devices.
//
// With c_b values of a device in bin b of a tensor, the lane has
//
//   c_b                                     counts of several devices are those of all their examples together
//   floor(lane_max sqrt(c_b / sum of c))    normalised: a device counts as one
//
// Either way a device's lanes of one tensor have the norm lane_max at most: the first as they add up to no more than
// values_max * positions, which lane_max is then. Square roots have the norm of one device whatever its values are, and
// say far more of what is rare than shares do: of one value in 1,000 a thirtieth, where noise is of the same size. Who
// reads a normalised table squares the sums.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/problem.h"
#include "base/result.h"
#include "proto/messages/analytics.h"

namespace coterie {

inline constexpr size_t kRangeTensorsMax = 256, kRangeNameBytesMax = 128;
inline constexpr int32_t kRangeExponentMax = 24;  // of either sign
inline constexpr uint32_t kRangeStepsMax = 16;    // a power of two
inline constexpr uint32_t kRangePositionsMax = 1u << 16;
inline constexpr uint64_t kRangeLanesMax = 1u << 18;      // of a table: 1 MiB
inline constexpr uint64_t kRangeAnswersMax = 1ull << 20;  // values_max * tensors: of a device, a part of the model each
inline constexpr uint32_t kRangeUnits = 256;              // lane_max of a normalised table, unless said

// The rules are valid, here and below.
uint32_t magnitude_bins(const RangeRules& rules);  // M
inline uint32_t range_bins(const RangeRules& rules) { return 2 * magnitude_bins(rules) + 1; }
// None: no finite number.
std::optional<uint32_t> range_bin(const RangeRules& rules, float value);

// The values of a bin lie between them; the middle one's around zero.
struct BinBounds {
  double low = 0, high = 0;
};
BinBounds range_bounds(const RangeRules& rules, uint32_t bin);

// How many values of a tensor with so many count of an example, and which they are; `i` is below that.
uint64_t range_positions(const RangeRules& rules, uint64_t elements);
uint64_t range_position(const RangeRules& rules, uint64_t i, uint64_t elements);

// What a device adds of one tensor, with so many values in each bin; nothing where there are none.
void put_range(const RangeRules& rules, uint32_t lane_max, std::span<const uint64_t> counts, std::span<float> lanes);

// lane_max of such rules, unless said.
uint32_t range_lane_max(const RangeRules& rules, uint32_t values_max);

// Rules of kind activation_ranges: the table's size, and the norm of the longest vector that one device may add.
uint64_t range_lane_count(const AnalyticsRules& rules);
double range_l2_sensitivity(const AnalyticsRules& rules);

// Whether one device may have said so. malformed: what is wrong.
Status check_range_lanes(const AnalyticsRules& rules, std::span<const float> lanes);

// All that is wrong with what such rules have of their own, each under its pointer within `analytics`.
Problems range_problems(const AnalyticsRules& rules);

}  // namespace coterie
