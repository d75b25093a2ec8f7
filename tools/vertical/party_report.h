// PartyReport: what a party's run came to, and what the parties learned of each other by it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/vertical/manifest.h"
#include "vertical/link/link.h"

namespace coterie {

struct StageReport {
  std::string name;
  double seconds = 0;
  vertical::LinkBytes bytes;  // of this stage alone
};

struct PartyReport {
  uint64_t ids = 0, peer_ids = 0, matched = 0, trained = 0, held_out = 0;  // the last two are 0 of a prediction
  std::vector<uint64_t> party_ids;  // of more than two parties: how many ids each has, by number; then peer_ids is 0
  uint64_t dealt_bytes = 0;         // frames that this party had of its dealer
  std::vector<double> losses;       // the label party's of a split network: of each epoch
  std::vector<StageReport> stages;
};

// A row of the leakage ledger with this job's numbers.
struct LedgerRow {
  std::string id, stage, label_party, feature_party;
  std::string coordinator = {};  // beyond sizes and times of what it carries; mostly nothing
};

// `report` may be either party's; `label_party` says whose it is.
std::vector<LedgerRow> ledger_rows(const PartyReport& report, bool label_party, const VerticalManifest& manifest);

std::string write_report(const PartyReport& report);
Result<PartyReport> parse_report(std::string_view text);
std::string write_ledger(const std::vector<LedgerRow>& rows);

}  // namespace coterie
