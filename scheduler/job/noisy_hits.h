// What of a watch's outcome is a hit, where each share has noise. `error` is the standard deviation of that; shares are
// unbiased, below 0 and above 1, too, and all that the model has layers for are among the hits.
#pragma once

#include "scheduler/job/watch_outcome.h"

namespace coterie {

// Noise alone passes so many of its standard deviations once in 740 shares.
inline constexpr double kHitErrorsMin = 3;

// Whether a share is more than noise makes. Without noise each is that is above 0.
inline bool stands_out(const WatchOutcome& outcome, double share) { return share > kHitErrorsMin * outcome.error; }

}  // namespace coterie
