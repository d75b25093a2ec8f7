// A server that dies at every durable step on the way from a sum to a released model: the real round machine, finalizer
// and SQLite store, and a storm that kills the process before or after any write. Shared by the short and the nightly
// test.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "fl_server/finalize/finalizer.h"
#include "fl_server/finalize/round_noise.h"
#include "fl_server/store/sql_training_store.h"
#include "proto/codec/codec.h"
#include "scheduler/job/round_release.h"
#include "scheduler/round/round_machine.h"
#include "tests/support/matchers.h"
#include "tests/support/memory_blob_store.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {

// Kills at random: when dead, nothing more happens until somebody revives it.
class Storm {
 public:
  explicit Storm(uint64_t seed) : prng_(seed) {}
  Prng& prng() { return prng_; }
  bool dead() const { return dead_; }
  void revive() { dead_ = false; }
  uint64_t deaths() const { return deaths_; }

  static Error lost() { return Error(ErrorCode::unavailable, "the process is dead"); }
  // Runs one durable operation, or dies before it, or dies before its answer is heard.
  template <typename Operation>
  auto durable(Operation operation) -> decltype(operation()) {
    const bool before = !dead_ && prng_.chance(kDeath), after = !dead_ && prng_.chance(kDeath);
    if (before) die();
    if (dead_) return lost();
    auto result = operation();
    if (after) die();
    if (dead_) return lost();
    return result;
  }

 private:
  static constexpr double kDeath = 0.05;
  void die() { dead_ = true, ++deaths_; }

  Prng prng_;
  bool dead_ = false;
  uint64_t deaths_ = 0;
};

// What the finalizer writes may be lost as well.
class StormyBlobs : public MemoryBlobStore {
 public:
  explicit StormyBlobs(Storm& storm) : storm_(storm) {}
  Result<std::unique_ptr<BlobWriter>> create() override {
    COT_ASSIGN(std::unique_ptr<BlobWriter> inner, MemoryBlobStore::create());
    return std::unique_ptr<BlobWriter>(new Writer(storm_, std::move(inner)));
  }

 private:
  class Writer : public BlobWriter {
   public:
    Writer(Storm& storm, std::unique_ptr<BlobWriter> inner) : storm_(storm), inner_(std::move(inner)) {}
    Status append(ByteView bytes) override { return inner_->append(bytes); }
    Result<Digest> finish() override {
      return storm_.durable([&] { return inner_->finish(); });
    }

   private:
    Storm& storm_;
    std::unique_ptr<BlobWriter> inner_;
  };
  Storm& storm_;
};

// The one write that the finalizer does to the store by itself.
class StormyStore : public TrainingStore {
 public:
  StormyStore(Storm& storm, std::unique_ptr<SqlTrainingStore>& inner) : storm_(storm), inner_(inner) {}

  Result<NoiseSalt> reserve_release(const RoundKey& key, const NoiseSalt& fresh, WallTime now) override {
    return storm_.durable([&] { return inner_->reserve_release(key, fresh, now); });
  }
  Result<RoundRecord> open_round(const JobId& job, const OpenRound& request, WallTime now) override {
    return storm_.durable([&] { return inner_->open_round(job, request, now); });
  }
  Result<bool> move_round(const MoveRound& request, WallTime now) override {
    return storm_.durable([&] { return inner_->move_round(request, now); });
  }
  Result<JobProgress> commit_round(const JobId& job, const CommitRound& request, WallTime now) override {
    return storm_.durable([&] { return inner_->commit_round(job, request, now); });
  }
  Result<JobRecord> set_job_state(const JobId& id, JobState to, const std::string& reason,
                                  std::optional<uint64_t> revision_expected = {}) override {
    return storm_.durable([&] { return inner_->set_job_state(id, to, reason, revision_expected); });
  }

  Status create_job(const JobRecord& job, const ModelRecord& initial,
                    const std::optional<QuotaClaim>& owner = {}) override {
    return inner_->create_job(job, initial, owner);
  }
  Result<std::vector<JobRecord>> list_jobs() override { return inner_->list_jobs(); }
  Result<JobRecord> get_job(const JobId& id) override { return inner_->get_job(id); }
  Result<JobProgress> load_progress(const JobId& id) override { return inner_->load_progress(id); }
  Result<std::vector<RoundRecord>> list_rounds(const JobId& job, const RoundQuery& query) override {
    return inner_->list_rounds(job, query);
  }
  Result<std::optional<ModelRelease>> released_model(const JobId& job) override { return inner_->released_model(job); }
  Result<std::map<JobId, ModelRelease>> released_models() override { return inner_->released_models(); }
  Result<ModelRelease> promote_model(const JobId& job, ModelVersion version, WallTime now,
                                     std::optional<uint64_t> revision_expected) override {
    return inner_->promote_model(job, version, now, revision_expected);
  }
  Result<ModelRelease> roll_back_model(const JobId& job, std::optional<uint64_t> revision_expected) override {
    return inner_->roll_back_model(job, revision_expected);
  }
  Result<LedgerHead> ledger_head() override { return inner_->ledger_head(); }
  Result<LogHead> log_head(const Population& population, uint64_t records) override {
    return inner_->log_head(population, records);
  }
  Result<LogProof> prove_log(const Population& population, uint64_t before, uint64_t size) override {
    return inner_->prove_log(population, before, size);
  }
  Result<Population> ledger_population(const JobId& job) override { return inner_->ledger_population(job); }
  Status set_population_budget(const Population& population, const std::optional<PrivacyBudget>& budget) override {
    return inner_->set_population_budget(population, budget);
  }
  Result<std::vector<PopulationPrivacy>> list_population_privacy(double delta) override {
    return inner_->list_population_privacy(delta);
  }
  Result<std::string> why_no_job(const JobRecord& job, const Digest& model) override {
    return inner_->why_no_job(job, model);
  }
  BatchOutcome accept_batch(const PartialRecord& partial, const std::vector<AcceptRow>& rows) override {
    return inner_->accept_batch(partial, rows);
  }
  Result<uint64_t> count_accepted(const RoundKey& key) override { return inner_->count_accepted(key); }
  Result<std::vector<DeviceId>> list_accepted(const RoundKey& key) override { return inner_->list_accepted(key); }
  Result<bool> is_accepted(const RoundKey& key, const DeviceId& id) override { return inner_->is_accepted(key, id); }
  Result<UpdateFate> look_up(const RoundKey& key, const DeviceId& id) override { return inner_->look_up(key, id); }
  Result<std::vector<PartialRecord>> list_partials(const RoundKey& key) override { return inner_->list_partials(key); }
  Result<std::vector<PartialRecord>> list_finished_partials(size_t n) override {
    return inner_->list_finished_partials(n);
  }
  Status forget_partials(const std::vector<std::string>& ids) override { return inner_->forget_partials(ids); }
  Result<std::vector<KeptNoise>> ended_noise(const RoundKey& key) override { return inner_->ended_noise(key); }
  Result<std::vector<DeviceId>> list_resting(const RoundKey& key) override { return inner_->list_resting(key); }
  Result<JobPrivacy> job_privacy(const JobId& id) override { return inner_->job_privacy(id); }
  Result<std::vector<LedgerRecord>> list_ledger(uint64_t after, size_t limit) override {
    return inner_->list_ledger(after, limit);
  }
  Result<std::vector<ModelRecord>> list_models(const JobId& job, const ModelQuery& query = {}) override {
    return inner_->list_models(job, query);
  }
  Result<ModelRecord> get_model(const JobId& job, ModelVersion v) override { return inner_->get_model(job, v); }

 private:
  Storm& storm_;
  std::unique_ptr<SqlTrainingStore>& inner_;
};

class ReleaseWorld {
 public:
  // With noise of this mechanism; `adapts_clip`: and a clip that follows the updates.
  ReleaseWorld(uint64_t seed, RoundNoiseMaker& noise, NoiseMechanism mechanism = NoiseMechanism::independent,
               bool adapts_clip = false);
  void run();
  uint64_t deaths() const { return storm_.deaths(); }
  uint64_t released() const { return released_; }
  uint64_t drawn() const { return drawn_.size(); }

 private:
  void reopen();
  void drive();
  RoundEvent answer(uint64_t serial, const RoundRequest& request);
  RoundEvent finalize(uint64_t serial, const FinalizeRound& request);
  std::optional<RoundEvent> react(const RoundNotice& notice);
  void check();
  void check_clips(const std::vector<ModelRecord>& models);
  void check_tree(const PrivacySpent& spent);
  bool is_tree() const { return job_.spec.horizontal().privacy.has_tree_noise(); }

  Storm storm_;
  TemporaryDirectory directory_{memory_disk()};
  std::unique_ptr<SqlTrainingStore> sqlite_;
  StormyStore store_{storm_, sqlite_};
  StormyBlobs blobs_{storm_};
  MemoryBlobStore partials_;
  Finalizer finalizer_;
  JobRecord job_;
  std::map<RoundKey, std::set<Digest>> drawn_;  // models with noise that ever came out of the finalizer
  std::map<RoundKey, std::set<double>> clips_;  // what the next round was to clip to, likewise
  std::set<RoundKey> doomed_;                   // attempts whose finalizing fails from now on
  uint64_t records_seen_ = 0;
  Digest head_seen_;
  uint64_t released_ = 0;
  int64_t now_ = 0;
};

}  // namespace coterie::test
