// What an agent does before a training whose plan asks something of the given model (given_pass.h).
#include <algorithm>

#include "base/os/clock.h"
#include "device_sdk/agent/agent.h"
#include "device_sdk/agent/given_pass.h"
#include "device_sdk/agent/told_scalars.h"

namespace coterie {

// A slice of the pass; an event when it has ended badly. A new life begins anew and finds the same.
Result<std::optional<ParticipantEvent>> Agent::look_at_given(const DoTrain& action) {
  const auto ended = [](Status outcome) { return std::optional<ParticipantEvent>(TrainingEnded{std::move(outcome)}); };
  if (given_.pass == nullptr) {
    if (const Status good = check_device(action.plan.update, {settings_.group}); !good) return ended(good);
    Result<GivenModel> given = load_given(action);
    if (!given) return ended(given.error());
    COT_ASSIGN(const uint64_t seed, seed_of(action.assignment));
    given_.layout = given->layout;
    Result<std::unique_ptr<GivenPass>> pass = GivenPass::create(
        given->model, given->clusters ? &*given->clusters : nullptr, *given_.layout, action.plan, seed, examples_);
    if (!pass) return ended(pass.error());
    given_.pass = std::move(*pass);
  }
  GivenPass& pass = *given_.pass;
  if (!pass.finished() && api_.server_now() > action.assignment.not_after) {
    return ended(Error(ErrorCode::ticket_expired, "the round was over before the training was"));
  }
  const Instant begin = os::monotonic_now();
  uint64_t step_us = 0;  // the longest so far
  while (!pass.finished() && os::monotonic_now() - begin < settings_.train_slice && may_train_on(2 * step_us)) {
    const uint64_t before_us = charge_ != nullptr ? charge_->used_us() : 0;
    if (const Status stepped = pass.step(); !stepped) return ended(stepped);
    if (charge_ != nullptr) step_us = std::max(step_us, charge_->used_us() - before_us);
  }
  given_.spent += os::monotonic_now() - begin;
  if (!pass.finished()) return std::optional<ParticipantEvent>();
  given_.facts = std::make_shared<const GivenFacts>(pass.facts());
  given_.pass.reset();  // its arena goes before the training's comes
  return std::optional<ParticipantEvent>();
}

}  // namespace coterie
