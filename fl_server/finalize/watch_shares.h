// What the devices of a watched job found, read off their sum (proto/messages/watch_lanes.h).
#pragma once

#include <optional>

#include "fl_server/finalize/mean_source.h"
#include "proto/messages/model.h"
#include "proto/messages/plan.h"
#include "scheduler/job/watch_outcome.h"

namespace coterie {

// None of a job that is not watched. `graph`: of the job's model. Whatever was sent, a share is in [0, 1].
Result<std::optional<WatchOutcome>> watch_outcome_of(const MeanSource& mean, const Plan& plan, const ModelGraph& graph);

}  // namespace coterie
