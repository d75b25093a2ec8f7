#include "tools/model_report/ledger_proof.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "fl_server/json/json_reader.h"
#include "tools/admin/ledger_records.h"

namespace coterie {
namespace {

bool has_head(const Ledger& ledger, const std::string& head) {
  const Result<Digest> digest = Digest::from_hex(head);
  if (!digest) return false;
  for (uint64_t seq = 1; seq <= ledger.size(); ++seq) {
    if (ledger.verify_extends(seq, *digest)) return true;
  }
  return false;
}

}  // namespace

Result<LedgerProof> prove_ledger(const nlohmann::json& exported, double delta, const std::string& run_head) {
  COT_ASSIGN(const LedgerExport read, read_ledger_export(exported));
  LedgerProof proof{.file = {}, .records = read.ledger.size(), .head = read.ledger.head().hex(), .delta = delta};
  for (const Population& population : read.logs.populations()) {
    const MerkleLog& log = read.logs.log_of(population);
    COT_ASSIGN(const PrivacySpent spent, read.ledger.spent(read.logs.jobs_of(population), delta));
    proof.populations.push_back(
        {population.value(), log.root().hex(), log.size(), spent.releases, spent.account.epsilon});
    for (const std::string& assumption : spent.account.assumptions) {
      if (std::ranges::find(proof.assumptions, assumption) == proof.assumptions.end()) {
        proof.assumptions.push_back(assumption);
      }
    }
  }
  if (!run_head.empty()) proof.has_runs_head = has_head(read.ledger, run_head);
  return proof;
}

Result<LedgerProof> read_ledger_proof(const std::string& file, double delta, const std::string& run_head) {
  COT_ASSIGN(const Bytes bytes, os::read_file(file, kLedgerBytesMax));
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(as_text(bytes), problems);
  Result<LedgerProof> proof = json
                                  ? prove_ledger(*json, delta, run_head)
                                  : Result<LedgerProof>(Error(ErrorCode::malformed, "is no JSON: " + listed(problems)));
  if (!proof) return proof.error().with_context(file);
  proof->file = file;
  return proof;
}

}  // namespace coterie
