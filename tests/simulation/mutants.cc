#include "tests/simulation/mutants.h"

#include <algorithm>

#include "device_sdk/client/state_keeping.h"
#include "proto/codec/codec.h"

namespace coterie::simulation {

void alter(Mutant mutant, IngestEvent& event) {
  if (auto* looked_up = std::get_if<AcceptedLookedUp>(&event)) {
    if (mutant == Mutant::hopeful_lookup && !looked_up->accepted) looked_up->accepted = true;
  } else if (auto* answered = std::get_if<BatchAnswered>(&event)) {
    const bool is_doubt = std::holds_alternative<BatchUnknown>(answered->outcome);
    const bool is_conflict = std::holds_alternative<BatchConflict>(answered->outcome);
    if (mutant == Mutant::doubt_is_consent && is_doubt) answered->outcome = BatchDone{};
    if (mutant == Mutant::conflict_for_all && is_conflict) answered->outcome = BatchDone{};
  }
}

void alter(Mutant mutant, const IngestEvent& event, IngestEffects& effects,
           const std::function<std::optional<AcceptUpload>(UploadId)>& receipt_of) {
  const auto* added = std::get_if<UpdateAdded>(&event);
  if (mutant != Mutant::ack_before_commit || added == nullptr) return;
  if (const auto receipt = receipt_of(added->upload)) effects.push_back(*receipt);
}

void alter(Mutant mutant, MemberEffects& effects) {
  if (mutant != Mutant::share_forgotten) return;
  for (MemberEffect& effect : effects) {
    if (auto* serve = std::get_if<ServeRound>(&effect)) serve->notice.ticket_count = 0;
  }
}

void alter(Mutant mutant, LeadEvent& event) {
  auto* heard = std::get_if<NodesHeard>(&event);
  if (mutant == Mutant::deaf_lead && heard != nullptr && heard->rows) heard->rows->clear();
}

void alter(Mutant mutant, LeadEffects& effects) {
  if (mutant != Mutant::board_of_first_round) return;
  for (LeadEffect& effect : effects) {
    auto* write = std::get_if<WriteBoard>(&effect);
    if (write == nullptr) continue;
    std::erase_if(write->board.rounds, [](const RoundNotice& round) { return round.number > 1; });
  }
}

void alter(Mutant mutant, LiveEvent& event) {
  auto* begin = std::get_if<AttemptServed>(&event);
  if (mutant == Mutant::sessions_over_rows && begin != nullptr) begin->served.has_accepted = false;
}

void alter(Mutant mutant, LiveEffects& effects) {
  if (mutant != Mutant::loss_untold) return;
  std::erase_if(effects, [](const LiveEffect& effect) {
    const auto* told = std::get_if<TellJob>(&effect);
    return told != nullptr && std::holds_alternative<AttemptLost>(told->event);
  });
}

void alter(Mutant mutant, ParticipantEvent& event) {
  auto* session = std::get_if<AggregationAnswered>(&event);
  if (mutant == Mutant::masked_is_unsent && session != nullptr) {
    session->is_left_out = std::holds_alternative<Failure>(session->outcome);
  }
  auto* answered = std::get_if<UploadAnswered>(&event);
  auto* failure = answered == nullptr ? nullptr : std::get_if<Failure>(&answered->outcome);
  if (failure == nullptr) return;
  const ErrorCode code = failure->error.code();
  if (mutant == Mutant::closed_is_over && code == ErrorCode::round_closed) {
    failure->error = Error(ErrorCode::ticket_expired, failure->error.message());
  }
  if (mutant == Mutant::late_dropped && code == ErrorCode::ticket_expired) {
    failure->error = Error(ErrorCode::refused, failure->error.message());
  }
}

std::optional<ParticipantState> altered(Mutant mutant, const ParticipantEvent& event, const ParticipantState& after,
                                        WallTime now) {
  if (mutant != Mutant::early_commit || !std::holds_alternative<TrainingEnded>(event) || !after.staged) return {};
  ParticipantState state = after;
  commit_state(decode_plan(state.plan).value(), now, state);
  return state;
}

}  // namespace coterie::simulation
