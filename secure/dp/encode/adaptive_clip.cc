#include "secure/dp/encode/adaptive_clip.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace coterie {

Result<AdaptiveClip> AdaptiveClip::make(const AdaptiveClipOptions& options) {
  const auto bad = [](const std::string& why) { return Error(ErrorCode::invalid_argument, "adaptive clip: " + why); };
  if (!(options.clip_norm_initial >= kClipNormMin && options.clip_norm_initial <= kClipNormMax)) {
    return bad("clip_norm_initial must be in [1e-12, 1e12], is " + std::to_string(options.clip_norm_initial));
  }
  if (!(options.quantile >= 0 && options.quantile <= 1)) {
    return bad("quantile must be in [0, 1], is " + std::to_string(options.quantile));
  }
  if (!(options.learning_rate > 0 && options.learning_rate <= 1)) {
    return bad("learning_rate must be in (0, 1], is " + std::to_string(options.learning_rate));
  }
  return AdaptiveClip(options);
}

Status AdaptiveClip::step(double unclipped_noisy, uint64_t contributors) {
  if (!std::isfinite(unclipped_noisy) || contributors == 0) {
    return Error(
        ErrorCode::invalid_argument,
        "adaptive clip: a round needs contributors and a finite number of unclipped updates; the clip norm stays");
  }
  // The count is noisy, and may be below 0 or above all: a share is neither.
  const double share = std::clamp(unclipped_noisy / static_cast<double>(contributors), 0.0, 1.0);
  clip_norm_ = std::clamp(clip_norm_ * std::exp(-options_.learning_rate * (share - options_.quantile)), kClipNormMin,
                          kClipNormMax);
  return {};
}

Result<double> update_noise_multiplier(double noise_multiplier, double bits_sigma) {
  if (!(noise_multiplier > 0 && std::isfinite(noise_multiplier) && 2 * bits_sigma > noise_multiplier)) {
    return Error(ErrorCode::invalid_argument,
                 "adaptive clip: the noise of the bits, sigma " + std::to_string(bits_sigma) +
                     ", must be more than half of noise_multiplier, " + std::to_string(noise_multiplier) +
                     ", which must be finite and > 0; raise bits_sigma");
  }
  const double z = noise_multiplier, of_bits = 2 * bits_sigma;
  return 1 / std::sqrt(1 / (z * z) - 1 / (of_bits * of_bits));
}

}  // namespace coterie
