// FixedPointSpec: how one real number of an update becomes an integer modulo 2^lane_bits.
//
//   lane = round_half_even(value * weight * 2^fraction_bits)   mod 2^lane_bits   (two's complement)
//
// Sums of lanes are exact: independent of order, of sharding, of threads, of retries. validate() proves that no sum of
// at most contributors_max updates can wrap, so that the sum read as a signed integer is the true sum.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace coterie {

struct FixedPointSpec {
  uint32_t lane_bits = 64;  // only 64 so far; the wire names it so that 32 can come
  uint32_t fraction_bits = 0;
  float value_abs_max = 0;        // |value| of every coordinate, finite, > 0
  uint32_t weight_max = 0;        // an update's weight is in [1, weight_max]
  uint32_t contributors_max = 0;  // updates in one sum

  // The finest spec that is valid for these bounds.
  static FixedPointSpec finest(float value_abs_max, uint32_t weight_max, uint32_t contributors_max);

  friend bool operator==(const FixedPointSpec&, const FixedPointSpec&) = default;
};

// A float has 24 significant bits, a weight at most 25: their product is exact in a double, so that a CPU that fuses
// the multiplication with the rounding addition gets the same lane as one that does not.
inline constexpr uint32_t kWeightMax = 1u << 24;

// One lane must stay below this, so that the conversion through a double is exact (see ring_vector.cc).
inline constexpr double kLaneAbsMax = 0x1p51;

Status validate(const FixedPointSpec& spec);

}  // namespace coterie
