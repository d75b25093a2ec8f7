// MemoryTrainingStore: the TrainingStore contract as plainly as it can be written. The simulator's store, and the model
// that real back-ends are compared with.
#pragma once

#include <map>
#include <mutex>
#include <set>

#include "fl_server/store/retention_store.h"
#include "fl_server/store/training_store.h"
#include "secure/dp/ledger/population_logs.h"

namespace coterie {

// Ways to break it on purpose, so that a checker can show that it sees.
struct StoreDefects {
  bool forgets_partial_ids = false;  // a repeated batch is written again
  bool ignores_conflicts = false;    // a device that is accepted may be accepted again
  bool ignores_round_state = false;  // batches are taken after the freeze
};

class MemoryTrainingStore : public TrainingStore, public RetentionStore {
 public:
  explicit MemoryTrainingStore(StoreDefects defects = {}) : defects_(defects) {}

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
  struct Job {
    JobRecord record;
    std::map<ModelVersion, ModelRecord> models;
    std::map<uint64_t, RoundId> rounds;  // by number
    std::vector<ModelRelease> releases;  // those that were not rolled back, the present one last
    std::string owner = {};              // a tenant; empty: the default one
  };
  // The populations whose budgets a job draws from. What was spent outlives the job.
  struct Drawn {
    Population own;
    std::set<Population> inherited;  // where its first model comes from
  };
  Result<JobProgress> progress_of(const JobId& id);
  RoundRecord& insert_round(Job& job, uint64_t number, Attempt attempt, const ModelRecord& base, WallTime now);

  std::set<DeviceId> resting_in(const RoundRecord& round) const;
  void erase_kept_noise(const JobId& job, uint64_t after, uint64_t before);
  Status append_to_ledger(const LedgerRecord& record);
  Result<std::string> privacy_stop_of(const JobRecord& job) const;
  std::set<Population> inherited_by(const JobRecord& job, const Digest& model) const;
  std::vector<PopulationDraw> draws_of(const JobRecord& job, const std::set<Population>& inherited) const;

  StoreDefects defects_;
  std::mutex mutex_;
  std::map<JobId, Job> jobs_;
  std::map<JobId, Job> deleted_;  // of which models are left
  std::map<RoundKey, RoundRecord> rounds_;
  std::map<RoundKey, std::set<DeviceId>> accepted_;
  std::map<RoundKey, std::vector<uint64_t>> examples_;  // of those
  std::map<std::string, PartialRecord> partials_;
  Ledger ledger_;
  PopulationLogs logs_;
  std::vector<LedgerRecord> records_;  // of the ledger
  std::map<RoundKey, NoiseSalt> salts_;
  std::map<Population, PrivacyBudget> budgets_;
  std::map<JobId, Drawn> drawn_;
  uint64_t next_round_ = 1;
};

}  // namespace coterie
