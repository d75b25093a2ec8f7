// TrainingStore on a database: SQLite for a single server, PostgreSQL for many that share one (store/sql/database.h).
//
// Other processes may write at the same time. A transaction that decides on what it has read locks it first, always in
// this order: a tenant's row, the lease's, the job's, the round's, the ledger. SQLite's writers are serial, and need no
// locks.
//
// Its files follow the subjects: sql_canaries.cc, sql_gates.cc, sql_jobs.cc, sql_rounds.cc, sql_accept.cc,
// sql_ledger.cc, sql_models.cc, sql_population_budgets.cc, sql_retention.cc, sql_tree_noise.cc.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "fl_server/store/canary_store.h"
#include "fl_server/store/gate_store.h"
#include "fl_server/store/retention_store.h"
#include "fl_server/store/sql/database.h"
#include "fl_server/store/training_store.h"
#include "scheduler/lease/lease.h"
#include "secure/dp/ledger/ledger_heads.h"
#include "secure/dp/ledger/population_logs.h"

namespace coterie {

class SqlTrainingStore : public TrainingStore, public RetentionStore, public CanaryStore, public GateStore {
 public:
  // Prepares the schema.
  static Result<std::unique_ptr<SqlTrainingStore>> open(Result<Database> database);

  // From now on rounds are moved, updates accepted and rows forgotten only while the lease has this epoch
  // (conflict otherwise): whoever lost the lead changes nothing, however late it wakes up. Without a call: always.
  void set_fence(const std::string& lease, LeaseEpoch epoch);

  // data_loss unless the ledger goes on from `before`: its end was cut off, or it is another one. From then on `tell`
  // is told what names the ledger (without a time) when it is not `before`, and whenever a transaction of ours has made
  // it longer, on that call's thread and before it returns; it must not call the store.
  Status keep_heads(const std::optional<LedgerHeads>& before, std::function<void(const LedgerHeads&)> tell);

  Status create_job(const JobRecord& job, const ModelRecord& initial,
                    const std::optional<QuotaClaim>& owner = {}) override;
  Result<std::vector<JobRecord>> list_jobs() override;
  Result<JobRecord> get_job(const JobId& id) override;
  Result<JobRecord> set_job_state(const JobId& id, JobState to, const std::string& reason,
                                  std::optional<uint64_t> revision_expected = {}) override;

  Result<JobProgress> load_progress(const JobId& id) override;
  Result<RoundRecord> open_round(const JobId& job, const OpenRound& request, WallTime now) override;
  Result<bool> move_round(const MoveRound& request, WallTime now) override;
  Result<JobProgress> commit_round(const JobId& job, const CommitRound& request, WallTime now) override;
  Result<std::vector<RoundRecord>> list_rounds(const JobId& job, const RoundQuery& query) override;

  BatchOutcome accept_batch(const PartialRecord& partial, const std::vector<AcceptRow>& rows) override;
  Result<uint64_t> count_accepted(const RoundKey& key) override;
  Result<std::vector<DeviceId>> list_accepted(const RoundKey& key) override;
  Result<std::vector<DeviceId>> list_resting(const RoundKey& key) override;
  Result<bool> is_accepted(const RoundKey& key, const DeviceId& device) override;
  Result<UpdateFate> look_up(const RoundKey& key, const DeviceId& device) override;
  Result<std::vector<PartialRecord>> list_partials(const RoundKey& key) override;
  Result<std::vector<PartialRecord>> list_finished_partials(size_t limit) override;
  Status forget_partials(const std::vector<std::string>& ids) override;

  Result<NoiseSalt> reserve_release(const RoundKey& key, const NoiseSalt& fresh, WallTime now) override;
  Result<std::vector<KeptNoise>> ended_noise(const RoundKey& key) override;
  Result<JobPrivacy> job_privacy(const JobId& id) override;
  Result<std::vector<LedgerRecord>> list_ledger(uint64_t after_seq, size_t limit) override;
  Result<LedgerHead> ledger_head() override;
  Result<LogHead> log_head(const Population& population, uint64_t records) override;
  Result<LogProof> prove_log(const Population& population, uint64_t before, uint64_t size) override;
  Result<Population> ledger_population(const JobId& job) override;
  Status set_population_budget(const Population& population, const std::optional<PrivacyBudget>& budget) override;
  Result<std::vector<PopulationPrivacy>> list_population_privacy(double delta) override;
  Result<std::string> why_no_job(const JobRecord& job, const Digest& model) override;

  Result<std::vector<ModelRecord>> list_models(const JobId& job, const ModelQuery& query = {}) override;
  Result<ModelRecord> get_model(const JobId& job, ModelVersion version) override;
  Result<std::optional<ModelRelease>> released_model(const JobId& job) override;
  Result<std::map<JobId, ModelRelease>> released_models() override;
  Result<ModelRelease> promote_model(const JobId& job, ModelVersion version, WallTime now,
                                     std::optional<uint64_t> revision_expected = {}) override;
  Result<ModelRelease> roll_back_model(const JobId& job, std::optional<uint64_t> revision_expected = {}) override;

  Result<CanaryRecord> open_canary(const OpenCanary& request, WallTime now,
                                   std::optional<uint64_t> revision_expected = {}) override;
  Result<ObservedCanary> observe_canary(const JobId& job, const std::string& id,
                                        std::span<const CanaryObservation> observations, WallTime now) override;
  Result<CanaryRecord> end_canary(const JobId& job, const std::string& id, const std::string& reason,
                                  WallTime now) override;
  Result<CanaryRecord> get_canary(const JobId& job, const std::string& id) override;
  Result<std::vector<CanaryRecord>> list_canaries(const JobId& job) override;
  Result<std::vector<CanaryRecord>> list_fed_canaries() override;
  Result<GivenModel> model_for(const Population& population, const DeviceId& device) override;

  Status keep_gates(const RoundKey& key, const GateRow& row) override;
  Result<std::vector<GateRow>> list_gates(const RoundKey& key) override;

  Result<ModelBlobs> list_model_blobs(const std::optional<ModelBlobs::Place>& after, size_t limit) override;
  Result<std::optional<WallTime>> oldest_under_way(RoundState from) override;
  Result<std::vector<ModelVersion>> list_releases(const JobId& job) override;
  Result<std::vector<ModelRecord>> forget_models(const JobId& job, const std::vector<ModelVersion>& versions) override;
  Result<std::vector<UnnamedBlob>> forget_exact_models(const JobId& job) override;
  Result<ForgottenAccepted> forget_accepted(WallTime ended_before, size_t limit, const RoundKey& after = {}) override;
  Result<uint64_t> forget_rounds(const JobId& job, uint64_t number, WallTime ended_before, size_t limit) override;
  Status delete_job(const JobId& job, std::optional<uint64_t> revision_expected) override;
  Result<std::vector<JobId>> list_deleted_jobs() override;
  Result<ForgottenJob> forget_job(const JobId& job, size_t limit) override;

 private:
  explicit SqlTrainingStore(Database database) : database_(std::move(database)) {}

  // The private halves expect the mutex to be held. The locks are a transaction's; what is absent cannot be locked.
  Status check_fence();
  Status lock_job(const JobId& id);
  Status lock_round(const RoundKey& key);
  Status lock_ledger();
  Result<JobRecord> read_job(const JobId& id);
  Result<bool> is_deleted(const JobId& id);
  Status insert_owner(const JobId& id, const QuotaClaim& owner);
  static Status check_revision(const JobRecord& job, std::optional<uint64_t> expected);
  Status touch_job(const JobId& id);
  Result<ModelRecord> read_model(const JobId& job, ModelVersion version);
  Result<std::vector<ModelRecord>> read_models(const JobId& job, const ModelQuery& query = {});
  Result<ModelRecord> read_newest_model(const JobId& job);
  Result<std::optional<ModelRelease>> read_release(const JobId& id);
  // Adds it behind what is released; nothing, if it is what is.
  Result<ModelRelease> release(const JobId& id, ModelVersion version, WallTime now);
  Result<std::optional<GivenModel>> read_given(const Population& population);
  Result<CanaryRecord> read_canary(const JobId& job, const std::string& id);
  Result<std::optional<CanaryRecord>> read_running_canary(const Population& population);
  Status insert_canary(const CanaryRecord& canary);
  // With its end it forgets whom it has heard.
  Status store_canary(const CanaryRecord& canary);
  // What `request.evaluation_job` compares must be what the canary gives to devices.
  Status check_evaluation(const OpenCanary& request, const Population& population, const Digest& base);
  Result<bool> hear_source(const CanaryRecord& canary, const std::string& source);
  Status hear(ObservedCanary& observed, std::span<const CanaryObservation> observations);
  Status forget_old_canaries(const Population& population);
  Status forget_canary(const std::string& id);
  // Before a promotion of this version, or a rollback (none), in the job's population.
  Status end_canary_for(const JobRecord& job, std::optional<ModelVersion> promoted, WallTime now);
  Result<JobProgress> read_progress(const JobId& id);
  Result<std::optional<RoundRecord>> read_round(const RoundKey& key);
  Result<std::optional<RoundRecord>> read_attempt(const JobId& job, uint64_t number, Attempt attempt);
  // A row with what is known of the job now.
  Result<RoundRecord> insert_round(const JobRecord& job, uint64_t number, Attempt attempt, const ModelRecord& base,
                                   WallTime now);
  Status insert_model(const ModelRecord& model);
  Result<uint64_t> read_examples_median(const JobRecord& job, uint64_t number);
  Result<uint64_t> read_accepted_count(const RoundKey& key);
  Result<BatchOutcome> write_batch(const PartialRecord& partial, const std::vector<AcceptRow>& rows);

  Result<std::vector<LedgerRecord>> read_ledger(uint64_t after_seq, size_t limit);
  Status refresh_ledger();
  Result<LedgerHead> read_ledger_head(const JobRecord& job);
  Status take_record(const LedgerRecord& record);
  Status append_to_ledger(const LedgerRecord& record);
  Result<NoiseSalt> read_salt(const RoundKey& key);
  Status erase_salt(const RoundKey& key);
  Result<std::map<JobId, uint64_t>> read_rests();
  Result<std::set<ModelVersion>> needed_versions(const JobId& job);
  Result<std::vector<RoundKey>> list_forgettable(WallTime ended_before, const std::map<JobId, uint64_t>& rests,
                                                 const RoundKey& after, size_t limit);
  Status keep_salt(const RoundKey& key, const NoiseSalt& fresh);
  Status check_separation(const RoundRecord& round, const HorizontalSettings& settings);
  Status end_noise(const JobRecord& job, const RoundKey& key);
  Status erase_kept_noise(const JobId& job, uint64_t after, uint64_t before);
  Status commit_release(const JobRecord& job, const FinalizedRound& round, WallTime now);
  Status void_release(const RoundKey& key, WallTime now);
  Result<std::string> read_privacy_stop(const JobRecord& job);
  Status insert_populations(const JobRecord& job, const Digest& model);
  Result<std::vector<Population>> read_inherited(const JobRecord& job, const Digest& model);
  Result<Population> population_of(const JobId& job);
  Result<std::optional<PrivacyBudget>> read_budget(const Population& population);
  Result<PopulationDraw> read_draw(const Population& population, bool is_inherited);
  Result<std::vector<PopulationDraw>> read_draws(const JobRecord& job);
  Result<std::vector<PopulationDraw>> read_draws(const JobRecord& job, const std::vector<Population>& inherited);
  // A transaction that may append to the ledger: if it fails, ours is read anew.
  template <typename Body>
  Status ledger_transaction(const os::TransactionPoints& points, Body body) {
    bool was_run = false;
    const Status done = database_.transaction(points, [&]() -> Status {
      if (std::exchange(was_run, true)) forget_ledger();
      return body();
    });
    if (!done) forget_ledger();
    else tell_heads();
    return done;
  }

  void tell_heads();
  void forget_ledger() {
    ledger_ = Ledger();
    logs_ = PopulationLogs();
  }

  struct Fence {
    std::string lease;
    LeaseEpoch epoch;
  };

  std::mutex mutex_;
  Database database_;
  std::optional<Fence> fence_;
  // The table's records, as far as refresh_ledger() has read them, as one chain and by population.
  Ledger ledger_;
  PopulationLogs logs_;
  std::map<JobId, Population> populations_;  // of jobs in the ledger: it never changes
  std::function<void(const LedgerHeads&)> tell_heads_;
  uint64_t told_records_ = 0;
};

}  // namespace coterie
