// What one attempt's plan, model and key come to for whoever adds its updates up: a node that talks to devices, and the
// one that keeps its cohorts. One function, so that both ends of a sum are of one shape. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "scheduler/round/round_notice.h"
#include "secure/secagg/session.h"

namespace coterie {

struct AttemptTerms {
  std::optional<secagg::SessionParameters> session;  // of the masks of its updates; none: it has none
  uint64_t lane_count = 0;                           // of its sum; where updates are kept, values of one
};

// `notice` is of a round that is served: its assignment names the attempt's own plan.
AttemptTerms terms_of(const RoundNotice& notice);

}  // namespace coterie
