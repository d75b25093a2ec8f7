// AttemptRules: what only the process that leads needs of an attempt, beside its notice (round_notice.h).
#pragma once

#include <cstdint>

#include "base/time.h"

namespace coterie {

struct AttemptRules {
  uint32_t cohort_count = 1;   // with secure aggregation
  uint32_t adverts_goal = 0;   // devices that close the rosters of all cohorts
  Millis cohort_phase_max{0};  // how long each phase of a session waits for devices
  Instant deadline;            // selecting: of the choice; collecting: of the updates
};

}  // namespace coterie
