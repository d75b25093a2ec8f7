// Planning a program's memory within a limit.
#pragma once

#include <cstdint>
#include <span>

#include "device_sdk/runtime/program.h"

namespace coterie {

// What it costs that a program fits.
struct Recomputed {
  uint32_t steps = 0;  // run a second time or more, in each run of the program
  double share = 0;    // of the estimated time of all steps, on top of it
};

// Program::join_elementwise() (unless `joins_steps` is false) and plan(), with as few steps run again as it takes to
// need at most `planned_bytes_max` (0: no limit). They are chosen before steps are joined, so that what
// is run again is as little as can be. If the limit cannot be kept, the plan needs the least that was found;
// planned_bytes() says so. Deterministic, and the results of the program are the same bits whatever the limit.
Result<Recomputed> plan_within(Program& program, std::span<const double> op_flops, uint64_t planned_bytes_max,
                               uint64_t bytes_max, bool joins_steps = true);

}  // namespace coterie
