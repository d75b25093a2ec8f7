// What the devices of a watched job found, read off their sum (proto/messages/watch_lanes.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "fl_server/finalize/mean_source.h"
#include "proto/messages/model.h"
#include "proto/messages/plan.h"
#include "scheduler/job/watch_outcome.h"

namespace coterie {

// None of a job that is not watched, or that has noise. `graph`: of the job's model. Whatever was sent, a share is in
// [0, 1].
Result<std::optional<WatchOutcome>> watch_outcome_of(const MeanSource& mean, const Plan& plan, const ModelGraph& graph);

// A round's sum with noise.
struct NoisySum {
  std::span<const float> means;  // of the watch's lanes, as the sum gives them, over `divisor`
  uint64_t divisor = 0;
  uint64_t updates = 0;  // in it; at least 1
  double sigma = 0;      // of the noise of a lane's sum, in steps of the grid
  uint32_t fraction_bits = 0;
};
// What is behind the noise, without bias, and how far off it is (proto/messages/watch_noise.h). All lanes that the
// model has layers for are in it, in the order of the checks. Precondition: has_noisy_watch(plan.update).
WatchOutcome noisy_watch_outcome(const NoisySum& sum, const Plan& plan, const ModelGraph& graph);

}  // namespace coterie
