// PrivacyRules of a job's plan: what devices are promised, from the operator's words.
//
// At active_dp they name the noise that devices add. It is sized for what can be relied upon: the least sum that is
// opened (cohort_min) of the largest roster (cohort_goal), as secure/dp/distributed/device_noise.h says. No
// amplification by sampling is claimed. A round's delta is the job's by the number of rounds, so that who takes part in
// all of them has spent no more than target_delta by adding up.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "scheduler/job/horizontal_settings.h"

namespace coterie {

// Precondition: validate(settings) names no cohort and no level; noise may be out of range. invalid_argument if no
// noise of devices will do for a model of `value_count` values.
Result<PrivacyRules> privacy_rules_of(const HorizontalSettings& settings, uint64_t value_count);

}  // namespace coterie
