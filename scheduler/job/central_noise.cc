#include "scheduler/job/central_noise.h"

#include <cmath>
#include <limits>
#include <string>

#include "scheduler/job/adaptive_clip_rules.h"
#include "scheduler/job/watch_norm.h"
#include "secure/dp/account/release.h"

namespace coterie {
namespace {

constexpr uint32_t kFractionBitsMax = 50;   // of FixedPointSpec
constexpr double kRoundedUp = 1 + 0x1p-40;  // more than all roundings of this arithmetic

}  // namespace

double norm_max_of(float clip_l2) { return static_cast<double>(clip_l2) * (1 + kClipSlack); }

Result<CentralNoise> central_noise_of(const HorizontalSettings& settings, uint64_t value_count) {
  const double norm_max =
      std::hypot(norm_max_of(settings.update.clip_l2), clip_rules_of(settings).bit, watch_norm_of(settings));
  const double rounding = std::sqrt(static_cast<double>(update_value_count(settings, value_count))) / 2;
  const auto at = [&](uint32_t bits) {
    CentralNoise noise;
    noise.fraction_bits = bits;
    // No coordinate is larger than the norm. One float up, as the conversion may have rounded down.
    noise.value_abs_max = std::nextafter(static_cast<float>(norm_max), std::numeric_limits<float>::infinity());
    const double scaled = std::ldexp(norm_max, static_cast<int>(bits));
    noise.l2_sensitivity = (scaled + rounding) * kRoundedUp;
    const double meant = noise.l2_sensitivity * settings.privacy.noise_multiplier;
    noise.sigma = std::sqrt(meant * meant + kRounded) * kRoundedUp;
    noise.inflation = noise.l2_sensitivity / scaled;
    return noise;
  };
  CentralNoise noise = at(0);
  if (!(noise.sigma <= kNoiseSigmaMax)) {
    return Error(ErrorCode::invalid_argument,
                 "noise of " + std::to_string(noise.sigma) + " steps of the coarsest grid is over " +
                     std::to_string(kNoiseSigmaMax) + ": lower update.clip_l2 or privacy.noise_multiplier");
  }
  // Sigma in steps grows with the bits: the last that the sampler can still draw is the finest grid.
  for (uint32_t bits = 1; bits <= kFractionBitsMax && at(bits).sigma <= kNoiseSigmaMax; ++bits) noise = at(bits);
  if (noise.sigma < kNoiseSigmaMin) {
    return Error(ErrorCode::invalid_argument,
                 "noise of " + std::to_string(noise.sigma) + " steps of the finest grid is below " +
                     std::to_string(kNoiseSigmaMin) + ": raise update.clip_l2 or privacy.noise_multiplier");
  }
  return noise;
}

}  // namespace coterie
