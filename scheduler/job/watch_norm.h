// What a device of a watched job with noise tells of its training, in the noise that hides its update (ADR 193).
//
// Its lanes (proto/messages/watch_noise.h) have together the L2 norm watch_share * clip_l2, whatever was found, and the
// update clip_l2 at most: one vector, and one release, of norm
//
//   clip_l2 * sqrt(1 + watch_share^2)                                     at most.
//
// Noise is made of that (central_noise.h, plan_privacy.h), so that a round costs what noise_multiplier costs without a
// watch; the model has the noise of sqrt(1 + watch_share^2) times the clip. With sigma = noise_multiplier times that
// norm, L lanes and n devices, a share of hits is off by a standard deviation of
//
//   sigma / (2 height n) = noise_multiplier * sqrt(L) * sqrt(1 + watch_share^2) / (2 watch_share n).
#pragma once

#include "scheduler/job/horizontal_settings.h"

namespace coterie {

// Unless a job says other: the model has 3 % more noise.
inline const double kWatchShare = PrivacySettings().watch_share;
inline constexpr double kWatchShareMin = 0.01, kWatchShareMax = 1;

// Precondition of all: the job's checks, if it has some, are job_checks().

// The norm of a device's lanes; 0 without a watch or without noise.
double watch_norm_of(const HorizontalSettings& settings);
// What each of them is, of either sign; 0 likewise.
double watch_lane_norm_of(const HorizontalSettings& settings);
// The bound of the lanes in a plan with this value_abs_max: 1 without noise. With it one that plans may have, if
// validate(settings) is empty.
float watch_bound_of(const HorizontalSettings& settings, float value_abs_max);

}  // namespace coterie
