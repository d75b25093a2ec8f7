#include "device_sdk/client/ledger_memory.h"

#include <string>

namespace coterie {

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

}  // namespace coterie
