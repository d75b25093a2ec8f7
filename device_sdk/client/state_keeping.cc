#include "device_sdk/client/state_keeping.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace coterie {

std::optional<StateSlot> state_to_train_from(const Plan& plan, const ParticipantState& state) {
  const auto kept = state.states.find(plan.job);
  // A job keeps what it asks for; a server that changes it starts anew.
  if (kept == state.states.end() || kept->second.slot.kind != state_kind_of(plan)) return std::nullopt;
  if (kept->second.personal != plan.training.personal) return std::nullopt;
  return kept->second.slot;
}

StateSlot staged_slot(const Plan& plan, const Assignment& assignment, const std::optional<StateSlot>& before) {
  COT_ASSERT(keeps_state(plan));
  return {.kind = state_kind_of(plan),
          .version = assignment.model_version,
          .model = assignment.model,
          .before = before ? before->content : Digest{},
          .content = {}};
}

void stage_state(const Plan& plan, const Assignment& assignment, const Digest& content, ParticipantState& state) {
  state.staged = staged_slot(plan, assignment, state_to_train_from(plan, state));
  state.staged->content = content;
}

void commit_state(const Plan& plan, WallTime now, ParticipantState& state) {
  if (!state.staged) return;
  KeptState& kept = state.states[plan.job];
  // One that this job's training has not gone on from is not gone back to either.
  const bool goes_on = kept.slot.kind == state.staged->kind && kept.personal == plan.training.personal;
  // Kept until the next round shows whether this update was counted (settle_state): if it was not, its state must not
  // be gone on from.
  kept.previous = goes_on ? std::optional(kept.slot) : std::nullopt;
  kept.personal = plan.training.personal;
  kept.slot = *std::exchange(state.staged, std::nullopt);
  kept.used = now;
  if (state.states.size() <= kStatesKeptMax) return;
  const auto older = [](const auto& a, const auto& b) { return a.second.used < b.second.used; };
  state.states.erase(std::min_element(state.states.begin(), state.states.end(), older));
}

void settle_state(const Assignment& assignment, ParticipantState& state) {
  const auto found = state.states.find(assignment.job);
  if (found == state.states.end()) return;
  KeptState& kept = found->second;
  // A newer model came out, so that the round of this state ended: the update was counted. The same model again means
  // that its attempt failed, and the state goes back.
  if (kept.slot.version < assignment.model_version) {
    kept.previous.reset();
  } else if (kept.previous) {
    kept.slot = *std::exchange(kept.previous, std::nullopt);
  } else {
    state.states.erase(found);
  }
}

void expire_states(WallTime now, ParticipantState& state) {
  std::erase_if(state.states, [now](const auto& entry) { return now - entry.second.used > kStateUnusedMax; });
}

}  // namespace coterie
