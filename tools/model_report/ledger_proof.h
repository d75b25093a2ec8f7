// What a privacy ledger proves of what was released, judged again from its records alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace coterie {

struct PopulationProof {
  std::string population, root;  // of its Merkle log
  uint64_t records = 0, releases = 0;
  double epsilon = 0;  // of all its releases together; infinite: nothing is protected
};

struct LedgerProof {
  std::string file;  // where the ledger was read; empty of one from elsewhere
  uint64_t records = 0;
  std::string head;  // digest of the last record, which follows from all
  double delta = 0;  // that epsilon holds at
  std::vector<PopulationProof> populations;
  std::vector<std::string> assumptions;  // what has to be true for epsilon to be, a sentence each
  std::optional<bool> has_runs_head;     // whether the head that a run names is among the records
};

inline constexpr double kLedgerDelta = 1e-6;  // unless a run names another
inline constexpr const char* kLedgerFile = "ledger.json";

// `exported`: an answer of /admin/v1/ledger, as `coterie privacy verify --save` writes it. `run_head`: hex, empty:
// none. Errors: malformed and data_loss as read_ledger_export says. Pure.
Result<LedgerProof> prove_ledger(const nlohmann::json& exported, double delta, const std::string& run_head);
// Errors name the file, which has at most kLedgerBytesMax.
Result<LedgerProof> read_ledger_proof(const std::string& file, double delta, const std::string& run_head);

inline constexpr uint64_t kLedgerBytesMax = 64ull << 20;

}  // namespace coterie
