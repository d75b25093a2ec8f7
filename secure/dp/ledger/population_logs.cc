#include "secure/dp/ledger/population_logs.h"

#include <algorithm>
#include <string>

#include "secure/merkle/merkle_hash.h"

namespace coterie {

Digest ledger_leaf(const LedgerRecord& record) { return merkle_leaf(digest_of(record).view()); }

void PopulationLogs::append(const LedgerRecord& record, const Population& population) {
  Entry& entry = entries_[population];
  entry.log.append(ledger_leaf(record));
  entry.seqs.push_back(record.seq);
  entry.jobs.insert(record.job);
}

const MerkleLog& PopulationLogs::log_of(const Population& population) const {
  static const MerkleLog kNone;
  const auto entry = entries_.find(population);
  return entry == entries_.end() ? kNone : entry->second.log;
}

Result<LogHead> PopulationLogs::head_at(const Population& population, uint64_t records, uint64_t ledger_size) const {
  if (records > ledger_size) {
    return Error(ErrorCode::conflict, "privacy ledger: has " + std::to_string(ledger_size) + " records, not " +
                                          std::to_string(records) + " yet");
  }
  const auto entry = entries_.find(population);
  if (entry == entries_.end()) return LogHead{};
  const std::vector<uint64_t>& seqs = entry->second.seqs;
  // A plan names the head of the whole ledger. The population's log at that moment has as many leaves as records of it
  // that are not behind that head.
  const auto size = static_cast<uint64_t>(std::ranges::upper_bound(seqs, records) - seqs.begin());
  return size == 0 ? LogHead{} : LogHead{size, entry->second.log.root(size)};
}

Result<LogProof> PopulationLogs::prove(const Population& population, uint64_t before, uint64_t size) const {
  const MerkleLog& log = log_of(population);
  if (size > log.size()) {
    return Error(ErrorCode::not_found, "privacy ledger: the population's log has " + std::to_string(log.size()) +
                                           " records, not " + std::to_string(size));
  }
  COT_ASSIGN(std::vector<Digest> hashes, log.consistency_proof(before, size));
  return LogProof{before, size, std::move(hashes)};
}

std::vector<JobId> PopulationLogs::jobs_of(const Population& population) const {
  const auto entry = entries_.find(population);
  if (entry == entries_.end()) return {};
  return {entry->second.jobs.begin(), entry->second.jobs.end()};
}

std::vector<Population> PopulationLogs::populations() const {
  std::vector<Population> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

}  // namespace coterie
