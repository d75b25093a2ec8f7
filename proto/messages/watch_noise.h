// Lanes of a watch (watch_lanes.h) that noise covers: what a device of a job with differential privacy tells of its
// training.
//
// What noise has to hide of a vector is its norm, and a device knows nothing of how many checks will fire. So it tells
// as much whatever it found: +height where a check fired, and -height where it did not. L lanes have the norm
// height * sqrt(L) always, and with n devices, of which x hits, the sum of a lane is
//
//   S = height * x - height * (n - x)        x = S / (2 height) + n / 2
//
// With 0 and 2 height in the place of both the sum would say the same, at twice the norm. n is no secret of these jobs
// (scheduler/job/round_release.h says what the noise does not cover).
//
// A plan has such lanes where the bound of its scalars of kind watch_hit is above 1: then height = value_abs_max /
// bound, as the bound of a scalar says what 1 is told as (update_scalars.h).
#pragma once

#include "proto/messages/plan.h"

namespace coterie {

bool has_noisy_watch(const UpdateRules& rules);

// Precondition of both: has_noisy_watch(rules). The same bits on devices and servers.
float watch_height(const UpdateRules& rules);
// The bound of a plan with this value_abs_max, so that watch_height() is a bit below `height` at most, and never above.
// Not above 1, nor finite maybe, if there is no such height: for who asks to judge.
float watch_bound(double height, float value_abs_max);

}  // namespace coterie
