// RoundStore: the truth about jobs, rounds, models and who is counted. Every call is one atomic, durable operation.
//
// Errors: `unavailable` and `timed_out` mean that a write may or may not have happened: all writes are safe to repeat.
// `conflict`, `not_found`, `invalid_argument` and `storage_full` mean that nothing was written. Implementations are
// thread-safe. One conformance suite (tests/unit/fl_server/store) runs against every implementation.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "fl_server/core/ingest_machine.h"
#include "fl_server/privacy/noise_seed.h"
#include "scheduler/job/records.h"
#include "scheduler/round/round_machine.h"
#include "secure/dp/ledger/ledger.h"

namespace coterie {

// A partial sum: a blob of lanes, and the totals of the updates in it.
struct PartialRecord {
  std::string id;  // node/incarnation/sequence: the idempotence key of accept_batch
  RoundKey key;
  RoundTotals totals;
  Digest blob;
  friend bool operator==(const PartialRecord&, const PartialRecord&) = default;
};

// What a job with noise has spent.
struct JobPrivacy {
  PrivacySpent spent;
  std::string stop;             // why it may not release once more; empty: it may
  uint64_t ledger_records = 0;  // of the whole ledger, all jobs; and the digest that names it
  Digest ledger_head;
};

// A version that applications should use.
struct ModelRelease {
  uint64_t seq = 0;  // 1, 2, ... of a job; a rollback takes the last one away
  ModelVersion version;
  WallTime time;
  friend bool operator==(const ModelRelease&, const ModelRelease&) = default;
};

// Which attempts of a job's rounds: `limit` of those before `before` (round number, attempt; none: from the newest)
// that are in this state, if one is named.
struct RoundQuery {
  std::optional<std::pair<uint64_t, Attempt>> before = {};
  std::optional<RoundState> state = {};
  size_t limit = 100;
};

class RoundStore {
 public:
  virtual ~RoundStore() = default;

  // ---- Jobs
  // Stores a job and its initial model (version 0) together. conflict if the id is taken.
  virtual Status create_job(const JobRecord& job, const ModelRecord& initial) = 0;
  virtual Result<std::vector<JobRecord>> list_jobs() = 0;  // by creation
  virtual Result<JobRecord> get_job(const JobId& id) = 0;
  // running <-> paused, running|paused -> cancelled|failed; the same state again is fine. conflict otherwise, and if a
  // revision is expected and the job has another (compare-and-set; then it has for ever: revisions only grow).
  virtual Result<JobRecord> set_job_state(const JobId& id, JobState to, const std::string& reason,
                                          std::optional<uint64_t> revision_expected = {}) = 0;

  // ---- Rounds
  virtual Result<JobProgress> load_progress(const JobId& id) = 0;
  // Idempotent on (job, number, attempt): the row that exists is returned. A new row of a job that keeps a
  // ledger has the ledger's head, here and in commit_round. conflict if the job is not running, or another
  // number is due, or if the privacy ledger does not admit another release of the job.
  virtual Result<RoundRecord> open_round(const JobId& job, const OpenRound& request, WallTime now) = 0;
  // Compare-and-set; false if the row is in another state.
  virtual Result<bool> move_round(const MoveRound& request, WallTime now) = 0;
  // One transaction: model version, round done, job progress (completed after the last), and, if asked for and the job
  // still runs and may release once more, the next round's row. Of a job with noise also the ledger's commit of the
  // reserve, which must exist, and the salt's end. Repeating a commit that happened returns the present progress.
  virtual Result<JobProgress> commit_round(const JobId& job, const CommitRound& request, WallTime now) = 0;
  // Newest first, every attempt its own row.
  virtual Result<std::vector<RoundRecord>> list_rounds(const JobId& job, const RoundQuery& query) = 0;

  // ---- Who is counted
  // One transaction: the partial's row and a row for every device, if the round is collecting this attempt. Repeating
  // the same partial id is BatchDone. If any device has a row already, nothing is written: BatchConflict.
  virtual BatchOutcome accept_batch(const PartialRecord& partial, const std::vector<AcceptRow>& rows) = 0;
  virtual Result<uint64_t> count_accepted(const RoundKey& key) = 0;
  virtual Result<std::vector<DeviceId>> list_accepted(const RoundKey& key) = 0;
  virtual Result<bool> is_accepted(const RoundKey& key, const DeviceId& device) = 0;
  virtual Result<std::vector<PartialRecord>> list_partials(const RoundKey& key) = 0;
  // Partial rows whose round is done or failed, and that still have blobs: for clean-up; then forget them.
  virtual Result<std::vector<PartialRecord>> list_finished_partials(size_t limit) = 0;
  virtual Status forget_partials(const std::vector<std::string>& ids) = 0;

  // ---- Privacy ledger (rules: secure/dp/ledger/ledger.h)
  // Of a round that is being finalized. One transaction: budget checked, reserve appended, `fresh` kept as the
  // attempt's salt until the attempt ends. If it has its reserve: the salt that was kept then, so that its noise is
  // drawn once. permission_denied if the budget does not admit the release; conflict if the round is in another state
  // or its job has no noise; data_loss if the ledger does not verify.
  virtual Result<NoiseSalt> reserve_release(const RoundKey& key, const NoiseSalt& fresh, WallTime now) = 0;
  // conflict if the job has no noise.
  virtual Result<JobPrivacy> job_privacy(const JobId& id) = 0;
  virtual Result<std::vector<LedgerRecord>> list_ledger(uint64_t after_seq, size_t limit) = 0;
  virtual Result<LedgerHead> ledger_head() = 0;  // of all jobs

  // ---- Models
  virtual Result<std::vector<ModelRecord>> list_models(const JobId& job) = 0;  // by version
  virtual Result<ModelRecord> get_model(const JobId& job, ModelVersion version) = 0;
  // Which version applications should use: the one that was promoted last and not rolled back; none before the first.
  virtual Result<std::optional<ModelRelease>> released_model(const JobId& job) = 0;
  // One transaction each; the job's revision grows, but for what is so already. conflict as in set_job_state.
  // not_found: no such job or version.
  virtual Result<ModelRelease> promote_model(const JobId& job, ModelVersion version, WallTime now,
                                             std::optional<uint64_t> revision_expected = {}) = 0;
  // To the version that was promoted before the present one; conflict if there is none.
  virtual Result<ModelRelease> roll_back_model(const JobId& job, std::optional<uint64_t> revision_expected = {}) = 0;
};

}  // namespace coterie
