// The privacy ledger as the admin plane gives it, back into records, and judged without trusting who gave it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "secure/dp/ledger/ledger_heads.h"

namespace coterie {

struct LedgerExport {
  Ledger ledger;
  PopulationLogs logs;
  bool has_populations = true;  // false: a server of before, or one that knows a job no more, names none; then no logs
};

// From the answer of /admin/v1/ledger with the records of all its pages. malformed if it is none; data_loss if a record
// is not what its digest says, they are no chain, or the head that the answer names is not among them.
Result<LedgerExport> read_ledger_export(const nlohmann::json& answer);

}  // namespace coterie
