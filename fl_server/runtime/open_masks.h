// From the shares of a round's sessions to the masks of their sums.
#pragma once

#include <span>

#include "base/result.h"
#include "fl_server/finalize/sum_masks.h"
#include "fl_server/runtime/work_pool.h"
#include "secure/secagg/server.h"

namespace coterie {

// Expects of each that it can_open(), all of them of `parameters`; log lines name how many gave wrong shares, never
// who. Secrets are put together, and keys agreed on, on whatever threads of the pool are idle; the sum of the masks is
// the same for any number. Errors: as Opening::open.
Result<SumMasks> open_masks(std::span<const secagg::Server* const> sessions,
                            const secagg::SessionParameters& parameters, WorkPool& pool);

}  // namespace coterie
