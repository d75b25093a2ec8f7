// Conditional randomized rounding (Kairouz, Liu, Steinke, ICML 2021, section 4.1): each coordinate goes up or down at
// random so that its mean is kept, and all again while the whole is longer than a bound. The bound, not the update,
// is then what noise has to hide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "secure/dp/noise/byte_source.h"

namespace coterie {

// The number of tries is fixed, so that no time tells how many an update needed. If none is short enough (a chance of
// at most beta^8 = 2 %), every coordinate is cut towards 0: shorter than the bound for certain, at the price of a bias.
inline constexpr int kRoundingTries = 8;

// beta = e^-1/2, as published: one try is short enough with probability 1 - beta at least.
inline constexpr double kRoundingBeta = 0.6065306597126334;

// Limit of the norm before rounding: every sum of squares below is exact in 64 bits, every coordinate in 32.
inline constexpr double kScaledNormMax = 1 << 30;

// The square of the bound for vectors of norm <= scaled_norm, rounded down:
// min((D + sqrt(d))^2, D^2 + d / 4 + sqrt(2 ln(1 / beta)) (D + sqrt(d) / 2)), D the norm, d the dimension.
uint64_t rounded_norm_squared_max(double scaled_norm, size_t dimension);

// rounded[i] = values[i] * factor, up or down: P(up) is what is behind the point, to 32 bits cut towards 0, against 32
// random bits; no floating-point comparison. The sum of squares of `rounded` is at most norm_squared_max. Constant time
// but for what floating-point hardware does with denormal numbers. Uses the first 4 * kRoundingTries * values.size()
// bytes of `random`.
// Precondition: the norm of values * factor is at most kScaledNormMax, and its square at most norm_squared_max.
void round_conditionally(const ByteSource& random, std::span<const float> values, double factor,
                         uint64_t norm_squared_max, std::span<int32_t> rounded);

}  // namespace coterie
