// What a device remembers of a job's privacy ledger: the longest head that it has seen in a plan. A server
// whose database was put back to an older state, or that keeps several ledgers, shows fewer records, or other
// ones: it has forgotten what was spent.
//
// A device sees a ledger only when it is drawn, and a head says nothing of the records between two heads: a
// ledger that was put back and has grown beyond what a device has seen looks to it like one that only grew.
// It is for all devices together to notice.
#pragma once

#include "proto/messages/participant_state.h"
#include "proto/messages/plan.h"

namespace coterie {

// refused, with reason ledger_rollback, if the plan's ledger cannot be a later state of the one that was
// seen: fewer records (a plan without a ledger has none), or as many and another head.
Status check_ledger(const Plan& plan, const ParticipantState& state);

// Precondition: check_ledger() is good.
void note_ledger(const Plan& plan, ParticipantState& state);

}  // namespace coterie
