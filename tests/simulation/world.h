// World: one simulated deployment: virtual time, a bad network, a store with outages, and the actors in it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/random.h"
#include "fl_server/finalize/finalizer.h"
#include "fl_server/finalize/round_noise.h"
#include "fl_server/records/round_why.h"
#include "scheduler/fleet/posted_board.h"
#include "scheduler/lease/lease.h"
#include "secure/crypto/mac.h"
#include "secure/crypto/signature.h"
#include "tests/simulation/event_queue.h"
#include "tests/simulation/options.h"
#include "tests/simulation/oracle.h"
#include "tests/support/memory_blob_store.h"
#include "tests/support/memory_training_store.h"

namespace coterie::simulation {

class SimNode;
class SimScheduler;
class SimDevice;

// What the store has for a fleet, beside rounds: the lease, the board, what nodes said. fl_server/store/fleet_store.h.
// Boards and reports go through their texts; what comes of a text is kept for all who read it, as it is always the
// same.
struct FleetTables {
  struct Lease {
    std::string holder;
    uint64_t epoch = 0;
    Instant expires{};
  };
  struct Board {
    uint64_t revision = 0;
    std::shared_ptr<const PostedBoard> posted = std::make_shared<const PostedBoard>();
  };
  struct Node {
    NodeReport said;    // as the node gave it
    NodeReport report;  // what came of its text
    Instant when;
  };
  Lease lease;
  Board board;
  std::map<std::string, Node> nodes;
};

// The store's rounds; a finalizer that looked too early sees the partial sums of then (Mutant::early_partials).
class SimRoundStore final : public MemoryTrainingStore {
 public:
  using MemoryTrainingStore::MemoryTrainingStore;
  Result<std::vector<PartialRecord>> list_partials(const RoundKey& key) override {
    if (early_ && !early_->empty() && early_->front().key == key) return *early_;
    return MemoryTrainingStore::list_partials(key);
  }
  void show(const std::vector<PartialRecord>* early) { early_ = early; }

 private:
  const std::vector<PartialRecord>* early_ = nullptr;
};

class World {
 public:
  explicit World(const WorldOptions& options);
  ~World();

  // Until the job is completed, or stuck.
  Verdict run();

  // ---- For the actors
  const WorldOptions& options() const { return options_; }
  EventQueue& queue() { return queue_; }
  Prng& prng() { return prng_; }
  Oracle& oracle() { return oracle_; }
  SimRoundStore& store() { return store_; }
  // Durable blobs: partial sums, with a clock that goes on.
  BlobStore& partials();
  const Finalizer& finalizer() const { return finalizer_; }
  const MacKey& ticket_key() const { return ticket_key_; }
  const Signer& signer() const { return *signer_; }
  const JobId& job() const { return job_; }
  const Bytes& plan_bytes() const { return plan_bytes_; }
  const FixedPointSpec& fixed_point() const { return fixed_point_; }
  std::vector<std::unique_ptr<SimNode>>& nodes() { return nodes_; }
  FleetTables& fleet() { return fleet_; }
  // As lives of nodes have told: fl_server/store/gate_store.h.
  using GateTable = std::map<RoundKey, std::map<std::string, GateRow>>;
  GateTable& gates() { return gates_; }
  SimDevice& device(uint32_t index) { return *devices_[index]; }
  // The life of a scheduler that is reached there, or null.
  SimScheduler* scheduler_at(std::string_view url);
  uint32_t index_of(const DeviceId& device) const { return by_id_.at(device); }
  const DeviceId& device_id(uint32_t index) const;
  bool faults_are_on() const { return queue_.now() < Instant(options_.faults_until); }

  // Delivers `arrive` after a random delay; perhaps never, perhaps twice, while faults are on.
  void send(std::function<void()> arrive);
  Millis some_delay(Millis max) { return Millis(prng_.below(static_cast<uint64_t>(max.count()) + 1)); }

  // Asks the store, for somebody who does not reach it before `reached_from`: `work` runs there, `answer` gets what it
  // returned, or `failure` of an error if the store was down or its answer was lost. The caller checks that it still
  // lives.
  template <typename T>
  void ask_store(Instant reached_from, std::function<T()> work, std::function<T(Error)> failure,
                 std::function<void(T)> answer);

  // The store has committed this round, its model follows the one before.
  void round_committed(const FinalizedRound& round);

 private:
  void repeat(Millis mean, std::function<void()> fault);
  bool completed();
  void judge_gates();

  WorldOptions options_;
  EventQueue queue_;
  Prng prng_;
  Oracle oracle_{options_.is_masked()};
  SimRoundStore store_;
  test::MemoryBlobStore models_;
  test::MemoryBlobStore partials_;
  Instant partials_at_{};  // where their clock is
  MacKey noise_key_;       // of no noise
  RoundNoiseMaker noise_{noise_key_};
  Finalizer finalizer_{store_, store_, models_, partials_, noise_, {}};
  Digest head_;  // the newest model
  Instant store_down_until_{};
  MacKey ticket_key_;
  std::unique_ptr<Signer> signer_;
  JobId job_{"job"};
  Bytes plan_bytes_;
  FixedPointSpec fixed_point_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<std::unique_ptr<SimScheduler>> schedulers_;
  FleetTables fleet_;
  GateTable gates_;
  bool is_last_round_done_ = false;
  std::vector<std::unique_ptr<SimDevice>> devices_;
  std::map<DeviceId, uint32_t> by_id_;
  std::vector<float> weights_of(const Digest& model);
};

template <typename T>
void World::ask_store(Instant reached_from, std::function<T()> work, std::function<T(Error)> failure,
                      std::function<void(T)> answer) {
  queue_.after(
      some_delay(options_.store_delay_max),
      [this, reached_from, work = std::move(work), failure = std::move(failure), answer = std::move(answer)]() mutable {
        const bool down = queue_.now() < std::max(store_down_until_, reached_from);
        const bool executed = !down || prng_.chance(0.2);  // a dying store may still finish what it was doing
        T result = executed ? work() : failure(Error(ErrorCode::unavailable, "the store is down"));
        const bool lost = down || (faults_are_on() && prng_.chance(options_.store_answer_loss));
        if (executed && lost) result = failure(Error(ErrorCode::unavailable, "the store's answer is lost"));
        queue_.after(some_delay(options_.store_delay_max),
                     [answer = std::move(answer), result = std::move(result)]() mutable { answer(std::move(result)); });
      });
}

// Runs one world.
inline Verdict simulate(const WorldOptions& options) { return World(options).run(); }

}  // namespace coterie::simulation
