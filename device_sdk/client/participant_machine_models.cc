// Which models a plan has fetched, and whether what came is what was named: where it evaluates some, in the place of
// training one.
#include <algorithm>
#include <ranges>

#include "device_sdk/client/participant_machine.h"

namespace coterie {

uint64_t ParticipantMachine::evaluated_bytes(const AnalyticsRules& rules) {
  uint64_t bytes = 0;
  if (!rules.evaluation) return bytes;
  for (const EvaluatedModel& model : rules.evaluation->models) bytes += model.bytes;
  return bytes;
}

DoFetchModel ParticipantMachine::fetch_evaluated() const {
  COT_INVARIANT(plan_->analytics->evaluation.has_value(), "who counts goes from its plan to counting");
  const std::vector<EvaluatedModel>& models = plan_->analytics->evaluation->models;
  return {.model = models.front().digest,
          .bytes = models.front().bytes,
          .job = plan_->job,
          .further = {models.begin() + 1, models.end()}};
}

// By the assignment, or by the plan, whose digest the assignment has.
bool ParticipantMachine::is_what_was_named(const ModelFetched& event) const {
  const Digest& first = std::get<Digest>(event.outcome);
  if (!plan_->analytics) return first == state_.assignment->model && event.further.empty();
  const std::vector<EvaluatedModel>& named = plan_->analytics->evaluation->models;
  return first == named.front().digest &&
         std::ranges::equal(event.further, named | std::views::drop(1), {}, {}, &EvaluatedModel::digest);
}

void ParticipantMachine::handle(const ModelFetched& event) {
  if (state_.phase != ParticipantPhase::planned) return;
  if (const auto* failure = std::get_if<Failure>(&event.outcome)) return fail(*failure);
  if (!is_what_was_named(event)) {
    return give_up(Error(ErrorCode::refused, "model: does not have the digest that was signed"), policy_.refusal_pause,
                   2 * policy_.refusal_pause);
  }
  if (event.control != plan_->control) {
    return give_up(Error(ErrorCode::refused, "control: does not have the digest that the plan names"),
                   policy_.refusal_pause, 2 * policy_.refusal_pause);
  }
  advance(ParticipantPhase::training);
}

}  // namespace coterie
