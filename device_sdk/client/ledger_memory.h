// What a device remembers of its server's privacy ledger, and what a plan must show beside it.
//
// It remembers the longest head of the whole ledger that a plan of each job had, and the longest head of its
// population's log that the server has signed. A plan with another head of the log is taken only with a proof that
// the shorter of both is where the longer begins (RFC 9162 section 2.1.4); the first head is taken as it is. So a
// server whose database was put back to an older state, or that keeps several ledgers, cannot show one device now this
// one and now that, however much the other has grown (docs/adr/0081).
//
// A head that is shorter than the remembered one is no rollback where another job's attempt was opened earlier: it is
// proven the other way round. In plans of one job heads never go back. What a device cannot see alone is whether other
// devices are shown the same log; the signed heads of two devices tell.
#pragma once

#include <optional>

#include "proto/messages/participant_state.h"
#include "proto/messages/plan.h"

namespace coterie {

// refused, with reason ledger_rollback, if the plan's ledger cannot be a later state of the one that was
// seen: fewer records (a plan without a ledger has none), or as many and another head.
Status check_ledger(const Plan& plan, const ParticipantState& state);

// Precondition: check_ledger() is good.
void note_ledger(const Plan& plan, ParticipantState& state);

// What is to be proven before the plan's log can be believed; nothing, if the head is the one that was seen, or the
// first that is. refused, for ledger_rollback if there is no head any more; for ledger_fork if it is not signed by the
// pinned key, of another population, or as long as the one that was seen and another.
Result<std::optional<LogStep>> check_log(const Plan& plan, const ParticipantState& state);

// refused, for ledger_fork, unless the proof shows that one of the plan's log and the remembered one begins with the
// other. Precondition: check_log() asked for it.
Status check_log_proof(const Plan& plan, const ParticipantState& state, const LogProof& proof);

// Remembers the plan's head if it is longer. Precondition: check_log() asked for no proof, or it was good.
void note_log(const Plan& plan, ParticipantState& state);

}  // namespace coterie
