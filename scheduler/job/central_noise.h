// CentralNoise: how much noise hides one device's update in a round's sum, on the grid the sum is made on.
//
// What one device can change. Each update counts with weight 1 and at most once an attempt (accept rows see to that);
// the server refuses one whose L2 norm is over clip_l2 * (1 + kClipSlack), so that this is not the device's word. Its v
// values become integers by rounding value * 2^fraction_bits, which moves each by 1/2 at most, so that the sum of a
// round with the device differs from the one without it by an integer vector of norm at most
//
//   l2_sensitivity = clip_l2 * (1 + kClipSlack) * 2^fraction_bits + sqrt(v) / 2           steps of the grid.
//
// With adaptive clipping there is one value more, the bit (adaptive_clip_rules.h), and with a watch there are its
// lanes, of norm w (watch_norm.h): v counts them, and the norm before rounding is
// sqrt((clip_l2 * (1 + kClipSlack))^2 + bit^2 + w^2). The server takes no update with another bit or other lanes.
//
// Weights other than 1 would multiply it by their maximum, while most devices stay far below it: they buy noise for
// nothing. The mean divides by the plan's goal_count, not by how many came, so that the divisor tells nothing.
//
// sigma = sqrt((noise_multiplier * l2_sensitivity)^2 + kRounded), so that it protects as normal noise of this
// multiplier does (secure/dp/account/release.h). fraction_bits is the finest grid on which sigma is at most
// kNoiseSigmaMax: finer than half that sigma, so that rounding is lost in the noise.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "scheduler/job/horizontal_settings.h"

namespace coterie {

// Devices clip in arithmetic of their own, and the server measures in its own: an honest update may be so much over.
inline constexpr double kClipSlack = 0x1p-10;

// What the sampler of wide noise can draw (secure/dp/noise/wide_gaussian.h), in steps.
inline constexpr double kNoiseSigmaMin = 512;
inline constexpr double kNoiseSigmaMax = 65536;

inline constexpr double kNoiseMultiplierMin = 0.01;
inline constexpr double kNoiseMultiplierMax = 10'000;
inline constexpr double kTargetDeltaMin = 1e-30;
inline constexpr double kTargetDeltaMax = 0.1;
inline constexpr double kEpsilonBudgetMin = 0.001;
inline constexpr double kEpsilonBudgetMax = 1000;

struct CentralNoise {
  uint32_t fraction_bits = 0;
  float value_abs_max = 0;    // no coordinate of an update of the largest norm is beyond it
  double l2_sensitivity = 0;  // steps
  double sigma = 0;           // steps, in [kNoiseSigmaMin, kNoiseSigmaMax]
  double inflation = 0;       // l2_sensitivity without rounding times this is l2_sensitivity
};

// The norm of an update that the server takes, at most; clip_l2 > 0.
double norm_max_of(float clip_l2);

// Precondition: validate(settings) is empty, settings.privacy.has_noise(). invalid_argument if no grid will do: clip,
// multiplier or model are too large, or the clip too small.
Result<CentralNoise> central_noise_of(const HorizontalSettings& settings, uint64_t value_count);

}  // namespace coterie
