// LedgerStore: what jobs with noise have released and what they may still release (rules: secure/dp/ledger/ledger.h),
// and the salts of noise that is not committed yet. Errors and threads: job_store.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fl_server/records/noise_salt.h"
#include "proto/messages/ledger_head.h"
#include "proto/messages/population_log.h"
#include "scheduler/job/population_draw.h"
#include "secure/dp/ledger/ledger.h"

namespace coterie {

// Noise of an earlier round that is in the model still.
struct KeptNoise {
  RoundKey round;
  NoiseSalt salt;
};

// What a job with noise has spent.
struct JobPrivacy {
  PrivacySpent spent;
  std::string stop;             // why it may not release once more; empty: it may
  uint64_t ledger_records = 0;  // of the whole ledger, all jobs; and the digest that names it
  Digest ledger_head;
  std::vector<PopulationPrivacy> populations;  // whose budgets it draws from, its own first; without one: at its delta
};

class LedgerStore {
 public:
  virtual ~LedgerStore() = default;

  // For a round that is being finalized. One transaction: budgets of the job and its populations checked, reserve
  // appended, `fresh` kept as the attempt's salt until the attempt ends. If it has its reserve: the salt that was kept
  // then, so that its noise is drawn once. permission_denied if a budget does not admit the release; conflict if the
  // round is in another state or its job has no noise; data_loss if the ledger does not verify.
  // Noise of a tree is reserved whole, by the first round that is released; after that the salt alone is kept. It needs
  // devices apart: data_loss if this attempt counts one that a round within rounds.separation_min counts, or if it is
  // not known any more whom that round counts.
  virtual Result<NoiseSalt> reserve_release(const RoundKey& key, const NoiseSalt& fresh, WallTime now) = 0;
  // Noise of a tree: salts of earlier rounds whose noise this round takes off (noise_tree.h), the last round first.
  // Empty where noise is independent. data_loss if one is gone. The store keeps each from the commit of its round to
  // that of the round that takes it off, or to the job's end.
  virtual Result<std::vector<KeptNoise>> ended_noise(const RoundKey& key) = 0;
  // conflict if the job has no noise.
  virtual Result<JobPrivacy> job_privacy(const JobId& id) = 0;
  virtual Result<std::vector<LedgerRecord>> list_ledger(uint64_t after_seq, size_t limit) = 0;
  virtual Result<LedgerHead> ledger_head() = 0;  // of all jobs
  // The head of the population's log as it was when the ledger had `records` records; all zeros: it had none of the
  // population. conflict if the ledger is shorter.
  virtual Result<LogHead> log_head(const Population& population, uint64_t records) = 0;
  // That the population's log of `size` records begins with that of `before`. not_found if it is shorter than that,
  // invalid_argument unless before <= size.
  virtual Result<LogProof> prove_log(const Population& population, uint64_t before, uint64_t size) = 0;
  // From whose budget the job of a record has drawn, also after the job was deleted.
  virtual Result<Population> ledger_population(const JobId& job) = 0;

  // From now on the population's jobs together spend no more; none: as much as they like. What is spent is spent.
  // invalid_argument unless epsilon is above 0 and delta is one that accountants take.
  virtual Status set_population_budget(const Population& population, const std::optional<PrivacyBudget>& budget) = 0;
  // Those with a budget, or with a record in the ledger, by name; `delta`: for those without a budget.
  virtual Result<std::vector<PopulationPrivacy>> list_population_privacy(double delta) = 0;
  // Why its populations would not admit a job that is not stored yet, with this initial model; empty if they would.
  // Once the job is stored, JobProgress::privacy_stop says so.
  virtual Result<std::string> why_no_job(const JobRecord& job, const Digest& model) = 0;
};

}  // namespace coterie
