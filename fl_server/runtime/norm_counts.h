// NormCounts: how long the updates of the open batch are, as they are added by several threads at once.
//
// Counted at level none alone, where the server sees single updates. What a job with central noise may not say is left
// out where the round's outcome is made (fl_server/finalize): the partial sum beside it has no noise yet either.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <span>

#include "base/result.h"
#include "proto/messages/norm_buckets.h"
#include "proto/messages/plan.h"

namespace coterie {

// Whether updates by this plan have a norm that says how far the model moves: not behind masks, not of counts instead
// of a training, not where running statistics stand among the values (which they are only the model says), and not of
// levels, whose rounding and weight are in them.
bool has_norms(const Plan& plan);

// The L2 norm of an update's step: without its control part, clip bit and scalars. malformed: a value is not finite.
// Precondition: has_norms() of its plan, as many values as the rules say.
Result<double> step_norm(std::span<const float> values, const UpdateRules& rules);

class NormCounts {
 public:
  // Thread-safe.
  void add(double norm) { counts_[norm_bucket(norm)].fetch_add(1, std::memory_order_relaxed); }

  // For the one who spills: nobody adds meanwhile.
  NormHistogram counted() const;
  void clear();

 private:
  std::array<std::atomic<uint64_t>, kNormBuckets> counts_{};
};

}  // namespace coterie
