// What a participant does with an update that its round did not count (buffered rounds, ADR 114).
#include "device_sdk/client/participant_machine.h"

#include <algorithm>

namespace coterie {

uint64_t ParticipantMachine::versions_since(const Assignment& later) const {
  return later.model_version.value() - state_.assignment->model_version.value();
}

float ParticipantMachine::weight_for(const Assignment& later) const {
  return staleness_weight(versions_since(later), plan_->staleness);
}

WallTime ParticipantMachine::last_use() const {
  const WallTime not_after = state_.assignment->not_after;
  return may_be_late() ? std::max(not_after, state_.late_since) + kKeptMax : not_after;
}

// The state comes from a file: what does not go with its plan and its assignment is dropped.
void ParticipantMachine::drop_unfit_round() {
  if (!may_be_late()) state_.late_since = {};
  const bool is_fit = state_.is_late() && state_.joined && state_.joined->job == state_.assignment->job &&
                      state_.joined->model_version >= state_.assignment->model_version;
  if (!is_fit) state_.joined.reset();
  if (!state_.joined) state_.joined_weight = 0;
  else if (state_.joined_weight == 0) state_.joined_weight = weight_for(*state_.joined);
  if (awaits_round() && (state_.has_opened || state_.has_masked)) state_.late_since = {};
}

// The server, too, reckons by the plan whether it may still count (CheckinDesk): an assignment of anything else is new
// work, in the place of an update that nobody will ask for.
void ParticipantMachine::join(const Assignment& assignment) {
  if (const Status verified = verify(assignment); !verified) {
    return give_up(verified.error(), policy_.refusal_pause, 2 * policy_.refusal_pause);
  }
  const Assignment& own = *state_.assignment;
  const bool is_in_time = assignment.job == own.job && assignment.model_version >= own.model_version &&
                          versions_since(assignment) <= plan_->staleness.versions_max;
  if (!is_in_time) {
    last_error_ = Error(ErrorCode::ticket_expired, "the update was too late for every round of its job");
    // The agent sees by the round that the training behind it is not that of the new work.
    state_.assignment.reset();
    forget_plan();
    state_.phase = ParticipantPhase::idle;
    return take(assignment);
  }
  state_.newest_models[assignment.job] = assignment.model_version;
  if (const Status allowed = check_new_part(policy_.privacy, *plan_, assignment, state_); !allowed) {
    last_error_ = allowed.error();
    state_.assignment->ticket = assignment.ticket;  // the next round, then
    return wait_between(Millis(0), policy_.backoff_first);
  }
  count_part(*plan_, assignment, state_);  // before it can leave, as for its own round
  state_.joined = assignment;
  state_.joined_weight = weight_for(assignment);
  state_.wait_until = WallTime();
}

// Whatever went wrong, the update is as good as before; unless its ticket is none for the server any more.
void ParticipantMachine::ask_for_round_again(const Failure& failure) {
  if (failure.error.code() == ErrorCode::not_found) {
    return give_up(failure.error, Millis(0), policy_.backoff_first);
  }
  last_error_ = failure.error;
  ++state_.failures;
  if (failure.window && failure.window->max_ms > 0) {
    return wait_between(Millis(failure.window->min_ms), Millis(failure.window->max_ms));
  }
  wait_between(Millis(0), backoff());
}

// An earlier try may still count: the same again, until the server knows what became of the round.
void ParticipantMachine::ask_what_became_of_it(const Failure& failure) {
  last_error_ = failure.error;
  ++state_.failures;
  wait_between(Millis(0), std::max(backoff(), Millis(failure.window ? failure.window->max_ms : 0)));
}

// The round may collect yet, with a roster that is closed. A server that does not see by the ticket that the device
// has been there gives it the same round again: so the device asks ever more rarely until an update is counted.
void ParticipantMachine::leave_session(const Failure& failure) {
  ++state_.failures;
  leave_round(failure);
  if (!failure.window) wait_between(Millis(0), backoff());
}

// For certain the round is over and does not count the update, which may so go to another.
void ParticipantMachine::leave_round(const Failure& failure) {
  last_error_ = failure.error;
  state_.late_since = now_;
  // It says the same of the update, and which round was left last.
  if (state_.joined) state_.assignment->ticket = state_.joined->ticket;
  state_.joined.reset();
  state_.joined_weight = 0;
  state_.has_masked = false;
  if (failure.window) wait_between(Millis(failure.window->min_ms), Millis(failure.window->max_ms));
  else state_.wait_until = WallTime();
}

}  // namespace coterie
