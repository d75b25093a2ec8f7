// Ledger: what the jobs of one server have spent, and whether they may release once more. Pure; the store keeps the
// records and makes them durable (reserve: before noise is drawn; commit: in the transaction that publishes).
//
// It never understates. A reserve counts in full for ever, whatever becomes of its round, unless it was voided before
// anything could leave. There is one reserve an attempt of a round, and at most one commit, which may not be less
// protective than the reserve. Not thread-safe; its owner locks.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "secure/dp/account/account.h"
#include "secure/dp/ledger/ledger_record.h"

namespace coterie {

// What a job may spend in all.
struct PrivacyBudget {
  double epsilon = 0;
  double delta = 0;
};

// invalid_argument unless epsilon is above 0 and finite, and delta one that accountants take.
Status check_budget(const PrivacyBudget& budget);

struct PrivacySpent {
  uint64_t releases = 0;       // that count
  uint64_t open_reserves = 0;  // of which reserved only: nobody knows that they were released, but they count
  PrivacyAccount account;      // epsilon and how it was found; 0 by "none" if there are no releases
};

// The guarantee of these releases together at `delta`, with what the samplers' error takes of delta. Infinite epsilon
// if that leaves nothing. With t the sum of the total variations, what really runs, P', obeys
//   P'(S) <= P(S) + t <= e^epsilon (P'_neighbour(S) + t) + delta' + t,
// so that it is (epsilon, delta' + (1 + e^epsilon) t).
Result<PrivacyAccount> account_of(const std::map<LedgerRelease, uint64_t>& releases, double delta);

class Ledger {
 public:
  // data_loss if a record is not the one that was appended there.
  static Result<Ledger> replay(std::span<const LedgerRecord> records);

  uint64_t size() const { return digests_.size(); }
  Digest head() const { return digests_.empty() ? Digest{} : digests_.back(); }
  // data_loss unless the record `seq` has this digest: a head that was noted earlier (0 and zeros: nothing). Sees that
  // the end was cut off, or the ledger replaced.
  Status verify_extends(uint64_t seq, const Digest& head) const;

  // data_loss if the record does not continue the chain or breaks the rules above; then nothing is changed.
  Status append(const LedgerRecord& record);

  // The record of this attempt's reserve; none if it has not got one.
  const LedgerRecord* find_reserve(const RoundKey& round) const;
  bool is_committed(const RoundKey& round) const;

  // The next record, not appended yet.
  // permission_denied if the release would pass the budget; conflict if the attempt has a reserve.
  Result<LedgerRecord> reserve(const JobId& job, const RoundKey& round, const LedgerRelease& release,
                               const PrivacyBudget& budget, WallTime now) const;
  // conflict without a reserve, after another commit or a void, or if `release` protects less than was reserved.
  Result<LedgerRecord> commit(const RoundKey& round, const LedgerRelease& release, uint64_t contributors,
                              const Digest& noise_commitment, WallTime now) const;
  // Only for who knows that nothing of this attempt was released or will be. conflict without a reserve, after a
  // commit.
  Result<LedgerRecord> void_reserve(const RoundKey& round, WallTime now) const;

  // Whether anything of the job counts.
  bool has_releases(const JobId& job) const;
  // Whether something counts of the job that protects no better than this release. If that is a whole tree of noise,
  // all that the job will ever release is charged then.
  bool covers(const JobId& job, const LedgerRelease& release) const;
  // All these jobs together, each named once: one composition of all that they have released.
  Result<PrivacySpent> spent(std::span<const JobId> jobs, double delta) const;
  Result<PrivacySpent> spent(const JobId& job, double delta) const { return spent(std::span(&job, 1), delta); }
  // permission_denied, with the figures, if one more release beside theirs would pass the budget.
  Status admits(std::span<const JobId> jobs, const LedgerRelease& release, const PrivacyBudget& budget) const;
  Status admits(const JobId& job, const LedgerRelease& release, const PrivacyBudget& budget) const {
    return admits(std::span(&job, 1), release, budget);
  }

 private:
  struct Entry {
    LedgerRecord reserve;
    std::optional<LedgerKind> end;  // commit or voided
  };
  struct JobEntry {
    std::map<LedgerRelease, uint64_t> counted;
    uint64_t open_reserves = 0;
  };
  JobEntry together(std::span<const JobId> jobs) const;
  LedgerRecord next(const LedgerRecord& like, LedgerKind kind, WallTime now) const;
  Status check_rules(const LedgerRecord& record) const;

  std::vector<Digest> digests_;
  std::map<RoundKey, Entry> rounds_;
  std::map<JobId, JobEntry> jobs_;
};

}  // namespace coterie
