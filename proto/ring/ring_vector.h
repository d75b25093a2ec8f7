// RingVector: lanes of uint64 summed modulo 2^64, and the only conversions in and out of that domain.
//
// Free functions on spans, no allocation, thread-compatible. `lanes.size()` equals `values.size()` everywhere.
#pragma once

#include <cstdint>
#include <span>

#include "base/cpu.h"
#include "base/result.h"
#include "proto/ring/fixed_point.h"

namespace coterie {

// Adds weight * values to lanes. The whole update or nothing: if a value is NaN, infinite or beyond spec.value_abs_max,
// lanes are left (restored to) as they were and the error names the first bad coordinate.
// Precondition: validate(spec), 1 <= weight <= spec.weight_max.
Status add_update(std::span<const float> values, uint32_t weight, const FixedPointSpec& spec,
                  std::span<uint64_t> lanes);

// Removes exactly what add_update added for the same arguments.
void subtract_update(std::span<const float> values, uint32_t weight, const FixedPointSpec& spec,
                     std::span<uint64_t> lanes);

// The same by the instructions of one level, which this CPU must have: every level gives the same bits, and a test must
// be able to say so. The functions above take cpu_simd_level().
Status add_update(SimdLevel level, std::span<const float> values, uint32_t weight, const FixedPointSpec& spec,
                  std::span<uint64_t> lanes);
void subtract_update(SimdLevel level, std::span<const float> values, uint32_t weight, const FixedPointSpec& spec,
                     std::span<uint64_t> lanes);

// sum += other, lane by lane.
void add_lanes(std::span<const uint64_t> other, std::span<uint64_t> sum);

// mean[i] = signed(lanes[i]) / (2^fraction_bits * weight_sum), weight_sum > 0; within 0.5 + 2^-26 of a float's last
// place (computed in double, rounded to float).
void decode_mean(std::span<const uint64_t> lanes, uint64_t weight_sum, const FixedPointSpec& spec,
                 std::span<float> mean);

}  // namespace coterie
