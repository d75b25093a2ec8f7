#include "device_sdk/client/ledger_memory.h"

#include <algorithm>
#include <string>

#include "proto/codec/limits.h"
#include "secure/identity/log_head_signature.h"
#include "secure/merkle/merkle_proof.h"

namespace coterie {
namespace {

static_assert(limits::kLogProofHashesMax == kMerkleProofMax);

Error fork(const std::string& what) {
  return Error(ErrorCode::refused,
               "plan: the log of this device's population " + what +
                   "; the server keeps another privacy ledger than this device has seen",
               refusal_reason::kLedgerFork);
}

std::string name_of(const LogHead& head) {
  return std::to_string(head.size) + " records with root " + head.root.hex().substr(0, 16);
}

}  // namespace

Status check_ledger(const Plan& plan, const ParticipantState& state) {
  const auto seen = state.ledgers.find(plan.job);
  if (seen == state.ledgers.end() || plan.ledger.records > seen->second.records || plan.ledger == seen->second)
    return {};
  const std::string before =
      std::to_string(seen->second.records) + " with head " + seen->second.head.hex().substr(0, 16);
  const std::string now = plan.ledger.records == seen->second.records
                              ? "as many with head " + plan.ledger.head.hex().substr(0, 16)
                              : std::to_string(plan.ledger.records);
  return Error(ErrorCode::refused,
               "plan: the server's privacy ledger was rolled back: this device has seen " + before + ", the plan has " +
                   now + " records; what the server says was spent is not to be believed",
               refusal_reason::kLedgerRollback);
}

void note_ledger(const Plan& plan, ParticipantState& state) {
  if (plan.ledger.records > 0) state.ledgers[plan.job] = plan.ledger;
}

Result<std::optional<LogStep>> check_log(const Plan& plan, const ParticipantState& state) {
  if (!plan.log && !state.log) return std::optional<LogStep>();
  if (!plan.log) {
    return Error(ErrorCode::refused,
                 "plan: has no head of the log of this device's population, which had " + name_of(state.log->head) +
                     ": the server's privacy ledger was rolled back, or it is of a version from before there were logs",
                 refusal_reason::kLedgerRollback);
  }
  if (plan.log->population != state.population) {
    return fork("is population " + plan.log->population.value() + "'s, not " + state.population.value() + "'s");
  }
  if (!verify_log_head(*plan.log, state.keys)) return fork("is not signed by the server");
  if (!state.log) return std::optional<LogStep>();
  const LogHead& seen = state.log->head;
  const LogHead& shown = plan.log->head;
  if (shown == seen) return std::optional<LogStep>();
  // No proof can help here: one log of one size has one root.
  if (shown.size == seen.size) return fork("has " + name_of(shown) + ", had " + name_of(seen));
  // A shorter log is no rollback yet: another server of the fleet may be behind. It has to be a beginning of the longer
  // one.
  return std::optional(LogStep{std::min(shown.size, seen.size), std::max(shown.size, seen.size)});
}

Status check_log_proof(const Plan& plan, const ParticipantState& state, const LogProof& proof) {
  const LogHead& seen = state.log->head;
  const LogHead& shown = plan.log->head;
  const LogHead& shorter = shown.size < seen.size ? shown : seen;
  const LogHead& longer = shown.size < seen.size ? seen : shown;
  if (proof.before == shorter.size && proof.size == longer.size &&
      verify_consistency(shorter.size, shorter.root, longer.size, longer.root, proof.hashes)) {
    return {};
  }
  return fork("has " + name_of(shown) + ", and no proof that it goes with " + name_of(seen));
}

void note_log(const Plan& plan, ParticipantState& state) {
  if (plan.log && (!state.log || state.log->head.size < plan.log->head.size)) state.log = plan.log;
}

}  // namespace coterie
