// The two noise distributions, as exact as integers get: weights proportional to their probabilities.
#pragma once

#include <cstdint>
#include <vector>

#include "secure/dp/noise/wide_uint.h"

namespace coterie {

enum class NoiseKind : uint8_t {
  // The difference of two Poisson variables of mean variance / 2 each: closed under sums, so that what any set of
  // survivors adds has a known distribution. P(k) = e^-v I_|k|(v), I the modified Bessel function.
  skellam,
  // P(k) proportional to exp(-k^2 / (2 variance)) (Canonne, Kamath, Steinke 2020). Its actual variance is a little
  // below
  // the parameter; sums are close to one again only for variances from about 16.
  discrete_gaussian,
};

// Both distributions are symmetric: weights[k] is proportional to P(k) = P(-k), k >= 0. With Z = weights[0] + 2 * the
// sum of the others, each tail 2 * (weights[k + 1] + ...) / Z differs from P(|X| > k) by at most 2^-kNoiseWeightBits.
inline constexpr int kNoiseWeightBits = 160;

// Variances in [kNoiseVarianceMin, kNoiseVarianceMax] only; the caller has checked.
inline constexpr double kNoiseVarianceMin = 0.0025;   // sigma 0.05
inline constexpr double kNoiseVarianceMax = 1048576;  // sigma 1024

std::vector<WideUint> skellam_weights(double variance);
std::vector<WideUint> discrete_gaussian_weights(double variance);

}  // namespace coterie
