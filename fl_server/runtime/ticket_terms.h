// What the tickets of a round say, and what a ticket that a device shows says of the update that it holds. Pure.
#pragma once

#include <optional>

#include "scheduler/selection/checkin_desk.h"
#include "secure/identity/ticket.h"

namespace coterie {

// `notice` is of the round whose ticket is given. Of buffered rounds the claims have the model that the device was
// handed: the round's, or that of the update which joins it.
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
  return HeldUpdate{claims.handed->job, claims.handed->version, claims.handed->model};
}

// By how many model versions the update of such a ticket is late in a round that begins with `base`.
inline uint64_t versions_late(const std::optional<HandedModel>& handed, ModelVersion base) {
  return handed && handed->version < base ? base.value() - handed->version.value() : 0;
}

}  // namespace coterie
