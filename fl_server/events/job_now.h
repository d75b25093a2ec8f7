// Where a job stands now, as the scheduler has it: what changes too often to be an event.
#pragma once

#include <cstdint>
#include <optional>

#include "scheduler/job/records.h"

namespace coterie {

struct JobNow {
  std::optional<RoundRecord> round;  // the attempt under way
  uint64_t accepted = 0;
  uint32_t selected = 0;
  uint64_t waiting = 0;  // devices of its population
};

}  // namespace coterie
