// How a quantized update lies in lanes (UpdateEncoding::quantized), so that sums of updates still add up.
//
// All devices of a round round their values to the same grid of 2^bits levels, 0 to 2^bits - 1, and a sum of updates is
// a sum of levels: exact, and below 2^sum_bits. What the levels mean is in secure/quantize/quantization_grid.h, and the
// rotation before that in secure/quantize/shared_rotation.h.
//
//   level none    the levels, `bits` each, one behind the other; the weight is in the header
//   with masks    levels and weight digits as lanes modulo 2^sum_bits, sum_bits each, masked
//
// The weight lies behind the values in weight_digits() lanes: a number of base 2^bits, its lowest digit first. A sum of
// digits is then as narrow as a sum of levels.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "proto/messages/quantization.h"

namespace coterie {

inline constexpr uint32_t kQuantizedBitsMax = 16;

// A sum's lanes have at least so many bits: sessions of secure aggregation take no fewer.
inline constexpr uint32_t kQuantizedSumBitsMin = 8;
inline constexpr uint32_t kQuantizedSumBitsMax = 32;

// Ranges, and that a sum's lane holds contributors_max levels.
Status validate(const QuantizationRules& rules);

// ---- Precondition of what follows: validate(rules); of the first two contributors_max > 0, too.

// bits + ceil(log2(contributors_max)), at least kQuantizedSumBitsMin: no sum of so many levels is beyond it.
uint32_t sum_bits(const QuantizationRules& rules);
uint64_t quantized_lanes(const QuantizationRules& rules, uint64_t value_count, uint32_t weight_max);

uint64_t level_max(const QuantizationRules& rules);
uint32_t weight_digits(const QuantizationRules& rules, uint32_t weight_max);

}  // namespace coterie
