#include "secure/dp/encode/encoding_plan.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "secure/dp/encode/conditional_rounding.h"
#include "secure/dp/encode/rotation.h"

namespace coterie {
namespace {

Error refused(const std::string& why) { return {ErrorCode::invalid_argument, "encoding plan: " + why}; }

Status check(const EncodingGoal& goal) {
  if (goal.dimension == 0 || goal.dimension > uint64_t{1} << 31) {
    return refused("the dimension must be in [1, 2^31], is " + std::to_string(goal.dimension));
  }
  if (!std::isfinite(goal.noise_multiplier) || goal.noise_multiplier < 0) {
    return refused("noise_multiplier must be finite and >= 0");
  }
  if (goal.honest_min == 0 || goal.honest_min > goal.contributors_max) {
    return refused("honest_min must be in [1, contributors_max], is " + std::to_string(goal.honest_min));
  }
  if (goal.noise_multiplier > 0 && goal.weight_max != 1) {
    return refused("with noise weight_max must be 1, is " + std::to_string(goal.weight_max));
  }
  return {};
}

// The least t with P(|X| > t) <= exp(-nats) * 2 for noise of this variance. Skellam: P(X >= t) <=
// exp(sqrt(t^2 + v^2) - v - t asinh(t / v)), the Chernoff bound of two Poissons; discrete Gaussians are sub-Gaussian
// with their parameter, and so are sums (Canonne, Kamath, Steinke 2020, corollary 17).
double noise_bound(NoiseKind kind, double variance, double nats) {
  if (kind == NoiseKind::discrete_gaussian) return std::sqrt(2 * variance * nats);
  const auto exponent = [&](double t) {
    return t * std::asinh(t / variance) - t * (t / (std::hypot(t, variance) + variance));
  };
  double high = 1;
  while (exponent(high) < nats) high *= 2;
  double low = high / 2 < 1 ? 0 : high / 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (exponent(middle) < nats ? low : high) = middle;
  }
  return high;
}

double bound_of_sum(const EncodingGoal& goal, const EncodingPlan& plan, size_t coordinates) {
  const double n = goal.contributors_max;
  // A union bound over all coordinates; the other half of the probability is the noise's.
  const double nats = std::log(2 * static_cast<double>(coordinates) / (kWrapProbabilityMax / 2));
  double updates = n * plan.sensitivity;
  if (goal.rotated) {
    const auto block = static_cast<double>(smallest_rotation_block(goal.dimension));
    // A rotated coordinate is a sum of `block` values under random signs (Hoeffding). All n updates may point the same
    // way, so that n counts in full.
    updates = std::min(updates, n * (scaled_norm_max(plan.spec) * std::sqrt(2 * nats / block) + 1));
  }
  const double noise = plan.local_variance > 0 ? noise_bound(goal.noise_kind, n * plan.local_variance, nats) : 0;
  const double weights = n * goal.weight_max;
  return std::max(weights, (updates + noise) * (1 + 1e-5));  // and what float32 rounds in the rotation
}

// The plan of this scale, whatever it inflates; an error if it is none.
Result<EncodingPlan> plan_with(const EncodingGoal& goal, uint32_t fraction_bits) {
  EncodingPlan plan{.spec = {.fraction_bits = fraction_bits,
                             .ring_bits = kRingBitsMax,
                             .clip_norm = goal.clip_norm,
                             .weight_max = goal.weight_max,
                             .contributors_max = goal.contributors_max,
                             .rotated = goal.rotated}};
  COT_TRY(validate(plan.spec));
  const size_t coordinates = encoded_coordinates(plan.spec, goal.dimension);
  plan.sensitivity = std::sqrt(static_cast<double>(sensitivity_squared(plan.spec, goal.dimension)));
  plan.inflation = plan.sensitivity / scaled_norm_max(plan.spec);
  if (goal.noise_multiplier > 0) {
    const double sigma = goal.noise_multiplier * plan.sensitivity;
    plan.local_variance = sigma * sigma / goal.honest_min;
  }
  plan.sum_bound = bound_of_sum(goal, plan, coordinates);
  uint32_t bits = kRingBitsMin;
  while (bits <= kRingBitsMax && std::ldexp(1, static_cast<int>(bits) - 1) <= plan.sum_bound) ++bits;
  if (bits > kRingBitsMax) return refused("the sum needs more than 64 bits; lower contributors_max or weight_max");
  plan.spec.ring_bits = bits;
  return plan;
}

Status check_noise(const EncodingGoal& goal, const EncodingPlan& plan) {
  if (goal.noise_multiplier == 0) return {};
  const std::string scale = " at a scale of 2^" + std::to_string(plan.spec.fraction_bits);
  if (plan.local_variance < kNoiseVarianceMin || plan.local_variance > kNoiseVarianceMax) {
    return refused("each contributor's noise would have variance " + std::to_string(plan.local_variance) + scale +
                   ", the sampler has [" + std::to_string(kNoiseVarianceMin) + ", " +
                   std::to_string(kNoiseVarianceMax) + "]; change the scale or honest_min");
  }
  const double sigma_min = kDiscreteGaussianSigmaMin;
  if (goal.noise_kind == NoiseKind::discrete_gaussian && plan.local_variance < sigma_min * sigma_min) {
    return refused("each contributor's discrete Gaussian would have sigma " +
                   std::to_string(std::sqrt(plan.local_variance)) + scale + ", less than 4; take Skellam");
  }
  return {};
}

Status check_inflation(const EncodingGoal& goal, const EncodingPlan& plan) {
  if (plan.inflation <= kInflationMax || goal.any_inflation) return {};
  return refused("rounding inflates the sensitivity " + std::to_string(plan.inflation) + " times at a scale of 2^" +
                 std::to_string(plan.spec.fraction_bits) + ", the limit is " + std::to_string(kInflationMax) +
                 "; take a finer scale, or allow any inflation");
}

}  // namespace

Result<EncodingPlan> choose_scale_and_bits(const EncodingGoal& goal) {
  COT_TRY(check(goal));
  if (goal.fraction_bits) {
    COT_ASSIGN(EncodingPlan plan, plan_with(goal, *goal.fraction_bits));
    COT_TRY(check_inflation(goal, plan));
    COT_TRY(check_noise(goal, plan));
    return plan;
  }
  // Finer scales inflate less and need more bits. What the limits leave may not reach the target; then the finest.
  std::optional<EncodingPlan> finest;
  std::optional<Error> why_not;
  for (uint32_t bits = 0; bits <= kEncodingFractionBitsMax; ++bits) {
    Result<EncodingPlan> plan = plan_with(goal, bits);
    const Status noise = plan ? check_noise(goal, *plan) : Status(plan.error());
    if (!noise) {
      if (!why_not) why_not = noise.error();
      continue;
    }
    finest = *plan;
    if (finest->inflation <= kInflationTarget) break;
  }
  if (!finest) return *why_not;
  COT_TRY(check_inflation(goal, *finest));
  return *finest;
}

}  // namespace coterie
