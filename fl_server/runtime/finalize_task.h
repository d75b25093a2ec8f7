// What the compute pool does for a round that is finalized: takes the masks off its sum, where it has any, and makes
// the next model of it.
#pragma once

#include "fl_server/core/live_attempts.h"
#include "fl_server/runtime/round_scheduler_parts.h"
#include "fl_server/runtime/work_pool.h"

namespace coterie {

// On a thread of `pool`, whose idle ones help. Counted, and told if it fails. Errors: as open_masks and
// Finalizer::finalize.
Result<FinalizedRound> finalize_now(const FinalizeNow& asked, const RoundSchedulerParts& parts, WorkPool& pool);

}  // namespace coterie
