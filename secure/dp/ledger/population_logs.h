// PopulationLogs: the privacy ledger's records by population, each population's as a Merkle log of its own, so that
// what is released elsewhere neither shows in its root nor makes it longer (docs/adr/0064).
//
// Leaf i is merkle_leaf(digest_of(record)), of the population's i-th record in the ledger's order. Pure. Not
// thread-safe.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "proto/messages/population_log.h"
#include "secure/dp/ledger/ledger_record.h"
#include "secure/merkle/merkle_log.h"

namespace coterie {

class PopulationLogs {
 public:
  // `record` follows those before it in the ledger; `population` is its job's.
  void append(const LedgerRecord& record, const Population& population);

  // Empty, of a population that has no record.
  const MerkleLog& log_of(const Population& population) const;
  // The head of its log when the ledger, which has `ledger_size` by now, had `records` records; all zeros: none of them
  // was the population's. conflict if the ledger is shorter.
  Result<LogHead> head_at(const Population& population, uint64_t records, uint64_t ledger_size) const;
  // not_found if its log is shorter than `size`; invalid_argument unless before <= size.
  Result<LogProof> prove(const Population& population, uint64_t before, uint64_t size) const;
  // Those of the population that have a record, each once.
  std::vector<JobId> jobs_of(const Population& population) const;
  std::vector<Population> populations() const;

 private:
  struct Entry {
    MerkleLog log;
    std::vector<uint64_t> seqs;  // of its records, growing
    std::set<JobId> jobs;
  };
  std::map<Population, Entry> entries_;
};

Digest ledger_leaf(const LedgerRecord& record);

}  // namespace coterie
