// AttemptRules: what only the process that leads needs of an attempt, beside its notice (round_notice.h).
#pragma once

#include <cstdint>

#include "base/time.h"

namespace coterie {

// Why an attempt is lost (AttemptLost) whose sessions went with the process that had them. Devices did nothing wrong:
// it ends no job (RoundMachine::kRestartsMax).
inline constexpr const char* kAttemptStartedAnew = "the server was started anew while devices aggregated";

struct AttemptRules {
  uint32_t cohort_count = 1;   // with secure aggregation
  uint32_t adverts_goal = 0;   // devices that close the rosters of all cohorts
  uint32_t adverts_least = 0;  // for so many rosters stay open however long it takes; 0: for nobody
  bool draws_cohorts = false;  // a rule compares them
  Millis cohort_phase_max{0};  // how long each phase of a session waits for devices
  // Buffered rounds: the attempt was collecting before the machine was started anew. Devices may have been in sessions
  // of it that are gone for good.
  bool is_resumed = false;
  Instant deadline;  // selecting: of the choice; collecting: of the updates
};

}  // namespace coterie
