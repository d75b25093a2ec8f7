#include "secure/dp/ledger/population_logs.h"

#include "secure/merkle/merkle_hash.h"

namespace coterie {

Digest ledger_leaf(const LedgerRecord& record) { return merkle_leaf(digest_of(record).view()); }

void PopulationLogs::append(const LedgerRecord& record, const Population& population) {
  Entry& entry = entries_[population];
  entry.log.append(ledger_leaf(record));
  entry.jobs.insert(record.job);
}

const MerkleLog& PopulationLogs::log_of(const Population& population) const {
  static const MerkleLog kNone;
  const auto entry = entries_.find(population);
  return entry == entries_.end() ? kNone : entry->second.log;
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
