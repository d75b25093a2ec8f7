// What the tickets of a round say, and what a ticket that a device shows says of the update that it holds. Pure.
#pragma once

#include <optional>

#include "fl_server/core/ingest_machine.h"
#include "fl_server/records/batch.h"
#include "scheduler/selection/checkin_desk.h"
#include "secure/identity/ticket.h"

namespace coterie {

inline constexpr const char* kForgotten =
    "this round is forgotten, and with it whether it counted the update; check in";

// `notice` is of the round whose ticket is given. In buffered rounds the claims have the model that the device
// was handed: the round's, or that of the update which joins it.
inline TicketClaims claims_of(const RoundNotice& notice, const GiveTicket& given) {
  TicketClaims claims{given.key, given.device, notice.assignment.not_after};
  if (given.held) {
    claims.handed = HandedModel{given.held->job, given.held->version, given.held->model};
  } else if (notice.plan.staleness.has_later_rounds()) {
    claims.handed = HandedModel{notice.job, notice.assignment.model_version, notice.assignment.model};
  }
  return claims;
}

// None: no later round may count it.
inline std::optional<HeldUpdate> held_by(const TicketClaims& claims) {
  if (!claims.handed) return std::nullopt;
  return HeldUpdate{claims.handed->job, claims.handed->version, claims.handed->model, claims.round};
}

// By how many model versions the update of such a ticket is late in a round that begins with `base`.
inline uint64_t versions_late(const std::optional<HandedModel>& handed, ModelVersion base) {
  return handed && handed->version < base ? base.value() - handed->version.value() : 0;
}

// What an update is held to that comes so late. It is shorter by its weight, so that no device gains by saying that it
// is not late.
inline UpdateRules late_rules(const Plan& plan, uint64_t versions_late) {
  UpdateRules rules = plan.update;
  if (versions_late > 0) rules.clip_l2 *= staleness_weight(versions_late, plan.staleness);
  return rules;
}

// What the intake is told of an upload that comes when its round takes no more. Only a device whose ticket admits it to
// a later round need know for certain that this one is over: nobody can tell it that of an attempt that is forgotten.
inline AcceptedLookedUp looked_up(const LookUpAccepted& asked, const Result<UpdateFate>& fate, bool may_join) {
  AcceptedLookedUp answer{asked.upload, asked.key, asked.device, false};
  if (!fate) answer.accepted = fate.error();
  else if (may_join && fate->is_forgotten && !fate->is_accepted)
    answer.accepted = Error(ErrorCode::not_found, kForgotten);
  else answer.accepted = fate->is_accepted;
  answer.is_over = may_join && answer.accepted && fate->is_over;
  return answer;
}

}  // namespace coterie
