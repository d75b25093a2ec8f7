// A RateSchedule in one word, as options of the command line take it: written as schedules over the steps of a training
// are (device_sdk/runtime/schedule.h).
#pragma once

#include <string_view>

#include "base/result.h"
#include "scheduler/job/rate_schedule.h"

namespace coterie {

// "constant:warmup=3", "step:period=10,gamma=0.5", "exponential:gamma=0.98", "cosine:min=0.1", each with an optional
// warmup=ROUNDS. invalid_argument says what is not understood; what a job makes of the numbers is said when it is
// validated.
Result<RateSchedule> parse_rate_schedule(std::string_view text);

}  // namespace coterie
