// From the shares of a session to the masks of its sum.
#pragma once

#include "base/result.h"
#include "fl_server/finalize/sum_masks.h"
#include "fl_server/runtime/work_pool.h"
#include "secure/secagg/server.h"

namespace coterie {

// Expects session.can_open(); log lines name how many gave wrong shares, never who. Secrets are put together, and keys agreed
// on, on whatever threads of the pool are idle; the sum of the masks is the same for any number. Errors: as Opening::open.
Result<SumMasks> open_masks(const secagg::Server& session, const secagg::SessionParameters& parameters, WorkPool& pool);

}  // namespace coterie
