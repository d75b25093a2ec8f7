// What an agent does with a plan that asks for counts, in the place of training.
#include <algorithm>

#include "base/os/clock.h"
#include "device_sdk/agent/agent.h"
#include "device_sdk/agent/count_examples.h"

namespace coterie {

// A slice of counting; an event when it has ended, well or not. A new life begins anew and draws the same examples.
Result<std::optional<ParticipantEvent>> Agent::count(const DoTrain& action) {
  const auto ended = [](Status outcome) { return std::optional<ParticipantEvent>(TrainingEnded{std::move(outcome)}); };
  if (!counting_) {
    COT_ASSIGN(const uint64_t seed, seed_of(action.assignment));
    counting_ = std::make_unique<ExampleCounter>(*action.plan.analytics, examples_.size(), seed);
  }
  ExampleCounter& counter = *counting_;
  if (!counter.finished() && api_.server_now() > action.assignment.not_after) {
    return ended(Error(ErrorCode::ticket_expired, "the round was over before the counting was"));
  }
  const Instant begin = os::monotonic_now();
  uint64_t step_us = 0;  // the longest so far
  while (!counter.finished() && os::monotonic_now() - begin < settings_.train_slice && may_train_on(2 * step_us)) {
    const uint64_t before_us = charge_ != nullptr ? charge_->used_us() : 0;
    if (const Status stepped = counter.step(examples_); !stepped) return ended(stepped);
    if (charge_ != nullptr) step_us = std::max(step_us, charge_->used_us() - before_us);
  }
  if (!counter.finished()) return std::optional<ParticipantEvent>();
  COT_TRY(vault_.write_file(kUpdateFile, counted_update(action.plan, action.assignment, counter.lanes())));
  return ended({});
}

}  // namespace coterie
