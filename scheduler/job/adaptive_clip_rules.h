// What the job key privacy.adaptive_clip makes of a job: algorithm 1 of Andrew, Thakkar, McMahan and Ramaswamy,
// "Differentially private learning with adaptive clipping", NeurIPS 2021.
//
// A round clips to C, and every update tells one bit, whether its norm was at most C. The bits are summed with noise of
// standard deviation sigma_b, the updates with z_delta * C, and C moves by what the noisy sum of the bits says
// (secure/dp/encode/adaptive_clip.h). Both together are as private as one sum with noise_multiplier z, for
//
//   z_delta = (z^-2 - (2 sigma_b)^-2)^(-1/2)                                      section 3.1 there.
//
// Here both are one vector and one release. The bit is a value behind the update's, +-beta, with
// beta = z_delta S / (2 sigma_b), where S = update.clip_l2 is what updates are scaled to (device_sdk/agent/
// encode_update.h). One noise on all values is then z_delta * S for the updates, sigma_b for the bits in units of
// 2 beta, and z times the norm of both:
//
//   sqrt(S^2 + beta^2) = S * sqrt(1 + z_delta^2 / (2 sigma_b)^2) = S * z_delta / z.
//
// So the ledger has one kind of release, which no round's clip changes, and epsilon is that of a fixed clip.
//
// With a watch the vector has its lanes, too, of norm w (watch_norm.h): S' = sqrt(S^2 + w^2) stands for S above, and
// the updates' noise is z_delta * S'.
#pragma once

#include <cstdint>

#include "base/problem.h"
#include "base/result.h"
#include "scheduler/job/horizontal_settings.h"

namespace coterie {

// What the settings have that does not go with adaptive clipping. Empty without it.
Problems adaptive_clip_problems(const HorizontalSettings& settings);

// ---- Preconditions of all that follow: validate(settings) is empty.

// The plan's rules as the first round has them; none without adaptive clipping.
ClipRules clip_rules_of(const HorizontalSettings& settings);

// Values of an update: the model's, those of a control part (drift_correction.h), the bit, and scalars.
uint64_t update_value_count(const HorizontalSettings& settings, uint64_t model_value_count);

// What devices of a round clip to: `clip_norm` of its row (RoundRecord), where 0 is update.clip_l2. 0 without adaptive
// clipping.
double clip_norm_of(const HorizontalSettings& settings, double clip_norm);

// What the next round clips to. `bits_sum`: of the values behind the updates', noise included; `updates` of them, at
// least 1. invalid_argument if the sum is not finite. Precondition: the job has adaptive clipping.
Result<double> next_clip_norm(const HorizontalSettings& settings, const ClipRules& rules, double bits_sum,
                              uint64_t updates);

// For operators. Where devices add the noise it is that of one cohort's honest devices; a round of several has more.
struct AdaptiveClipNoise {
  double bits_sigma = 0;         // of the count: the job's, or the larger of goal_count / 20 and noise_multiplier
  double update_multiplier = 0;  // of the updates' noise, over S: z_delta, but for what a watch adds
};
AdaptiveClipNoise adaptive_clip_noise(const HorizontalSettings& settings);

}  // namespace coterie
