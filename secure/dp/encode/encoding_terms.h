// EncodingTerms: how an update becomes lanes whose sum may be masked and noised. Both ends read it from the plan.
//
//   lanes = round(clip(update) * weight * 2^fraction_bits) + noise   mod 2^ring_bits   (two's complement)
//
// The grid is that of proto/ring (fixed_point.h): whole multiples of 2^-fraction_bits, and ring_vector.h decodes it.
// What differs is which promise bounds a sum. There every coordinate is bounded and rounded to nearest, as a plain
// update is added at the server; here the Euclidean norm is, and rounding is random and keeps the norm bounded, as
// privacy wants, on the device. A spec of this kind is made by encoding_plan.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace coterie {

struct EncodingTerms {
  uint32_t fraction_bits = 0;     // the scale, as a power of two
  uint32_t ring_bits = 32;        // lanes are modulo 2^ring_bits, in the narrowest of 16, 32 and 64 bits
  double clip_norm = 0;           // Euclidean norm of an update, at most
  uint32_t weight_max = 1;        // an update's weight is in [1, weight_max]
  uint32_t contributors_max = 0;  // updates in one sum
  bool rotated = true;            // see rotation.h

  friend bool operator==(const EncodingTerms&, const EncodingTerms&) = default;
};

inline constexpr uint32_t kEncodingFractionBitsMax = 30;
inline constexpr uint32_t kRingBitsMin = 8;
inline constexpr uint32_t kRingBitsMax = 64;

// Shape and ranges alone; that sums do not wrap is the plan's to show.
Status validate(const EncodingTerms& spec);

// 16, 32 or 64.
uint32_t lane_bits(const EncodingTerms& spec);

// Coordinates of `dimension` values after rotation, and lanes: one more, for the sum of the weights.
size_t encoded_coordinates(const EncodingTerms& spec, size_t dimension);
size_t encoded_lanes(const EncodingTerms& spec, size_t dimension);

// In steps of the grid: the norm of a clipped update, and the square of what rounding can make of it. The square root
// of the latter is the sensitivity of a sum when one update comes or goes.
double scaled_norm_max(const EncodingTerms& spec);
uint64_t sensitivity_squared(const EncodingTerms& spec, size_t dimension);

}  // namespace coterie
