// Chooses the scale and the bits of a private sum, or says why there is none. Pure arithmetic on public parameters.
//
// Too coarse a grid inflates the sensitivity: rounding may add d / 4 to the square of a norm, so that the scaled norm
// must be well above sqrt(d) / 2. Too few bits, and a sum wraps: that is a wrong model, not a loss of privacy.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "secure/dp/encode/encoding_terms.h"
#include "secure/dp/noise/noise_weights.h"

namespace coterie {

// A plan that inflates the sensitivity by more than this is refused, unless it is allowed in so many words: the noise
// grows by as much.
inline constexpr double kInflationMax = 1.2;

// The scale that is chosen is the coarsest that inflates by no more than this.
inline constexpr double kInflationTarget = 1.05;

// Probability that any coordinate of one sum wraps, at most.
inline constexpr double kWrapProbabilityMax = 0x1p-40;

// A sum of discrete Gaussians of a smaller local sigma is far from one (Kairouz, Liu, Steinke: tau grows as
// exp(-2 pi^2 sigma^2)): Skellam is the choice there.
inline constexpr double kDiscreteGaussianSigmaMin = 4;

struct EncodingGoal {
  uint64_t dimension = 0;
  uint32_t contributors_max = 0;  // updates in one sum
  uint32_t honest_min = 0;        // contributors whose noise can be relied upon, at least
  double clip_norm = 0;
  uint32_t weight_max = 1;
  bool rotated = true;
  double noise_multiplier = 0;  // sigma of the sum's noise / sensitivity; 0: no noise
  NoiseKind noise_kind = NoiseKind::skellam;
  std::optional<uint32_t> fraction_bits;  // this scale instead of the coarsest good one
  bool any_inflation = false;             // take it however much rounding inflates
};

struct EncodingPlan {
  EncodingTerms spec;
  double sensitivity = 0;     // in steps of the grid: norm of a rounded update, at most
  double inflation = 0;       // sensitivity / scaled clip norm
  double local_variance = 0;  // of one contributor's noise, in squared steps; 0: none
  double sum_bound = 0;       // in steps: no coordinate of the sum is beyond it, but with kWrapProbabilityMax
};

// 2^(ring_bits - 1) > sum_bound, which is the sum of
// * the updates: contributors_max * sensitivity, or, rotated, contributors_max scaled norms spread over the smallest
// block
//   of N coordinates: sqrt(2 ln(2 d / p) / N) of them by Hoeffding's inequality for the random signs, and 1 for each
//   contributor's rounding, where that is less;
// * the noise of all contributors, by its Chernoff bound.
// p, half of kWrapProbabilityMax for each of the two, is shared by d coordinates. Contributors that choose updates
// against the signs, or lie, can make a sum wrap; that is theirs to do by any lie.
Result<EncodingPlan> choose_scale_and_bits(const EncodingGoal& goal);

}  // namespace coterie
