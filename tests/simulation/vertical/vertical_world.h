// VerticalWorld: a coordinator, the parties of a few jobs and the people who run them, under a virtual clock. What
// runs is what ships: run_party() with its journal, all stages and the client of a coordinator; the coordinator's
// machine and its folder of jobs.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "secure/crypto/signature.h"
#include "tests/simulation/event_queue.h"
#include "tests/simulation/vertical/simulated_coordinator.h"
#include "tests/simulation/vertical/simulated_process.h"
#include "tests/simulation/vertical/vertical_job.h"
#include "tests/simulation/vertical/vertical_options.h"
#include "tests/simulation/vertical/vertical_oracle.h"
#include "tests/support/temporary_directory.h"
#include "tools/vertical/party_config.h"

namespace coterie::simulation {

class VerticalWorld {
 public:
  explicit VerticalWorld(VerticalOptions options);
  ~VerticalWorld();

  // Until all jobs are over and their parties know it, or stuck.
  VerticalVerdict run();

  // ---- For those in it
  const VerticalOptions& options() const { return options_; }
  EventQueue& queue() { return queue_; }
  Prng& prng() { return prng_; }
  VerticalOracle& oracle() { return oracle_; }
  vertical::CoordinatorLimits limits() const;
  Millis some_delay();
  std::shared_ptr<Connection> connect(const SimulatedProcess& from);
  // What a process draws for its journal, or the coordinator for a dealing: the same in each life, so that a run that
  // is cut off and an undisturbed one have the same journal.
  void draw(size_t job, uint32_t who, std::span<uint8_t> bytes) const;
  // False: the file stays as it was (mutants).
  bool party_writes(size_t job, vertical::PartyIndex party, const std::string& path, ByteView bytes);
  void piece_carried();
  uint64_t effects_of_coordinator();
  void coordinator_killed();
  // Over all parts of the model and the scores.
  Digest model_of(size_t job) const;
  // The lines of everybody who is scored, sorted; empty: there are none yet.
  std::vector<std::string> scores_of(size_t job) const;

 private:
  struct Party {
    PartyConfig config;
    SimulatedProcess* life = nullptr;  // the one that runs
    uint32_t kills = 0;
    bool has_ended = false;                                  // and knows how
    Instant away_until{};                                    // nobody starts it before
    std::vector<std::pair<std::string, Bytes>> checkpoints;  // for mutants: that it wrote, or was to write
  };

  PartyConfig config_of(size_t job, vertical::PartyIndex party) const;
  // A person's command, again and again until it is heard; then `then`.
  void command(size_t job, const vertical::PeerIdentity& who, vertical::Request request, std::function<void()> then);
  SimulatedProcess& begin(ProcessTerms terms, std::function<void()> body, std::function<void()> ended);
  void submit(size_t job);
  void start_party(size_t job, vertical::PartyIndex party);
  void party_ended(size_t job, vertical::PartyIndex party);
  bool is_checkpoint_written(Party& party, const std::string& path, ByteView bytes) const;
  void restore_old_checkpoint(const Party& party) const;
  void strike(const PlannedFault& fault);
  void kill(size_t job, vertical::PartyIndex party);
  bool is_over() const;
  const Digest& undisturbed_model(uint32_t job);
  // Trees at more than two parties must score as those of the table that has all of their columns.
  void check_pooled(uint32_t job, const VerticalWorld& undisturbed_world);

  VerticalOptions options_;
  EventQueue queue_;
  Prng prng_;
  test::TemporaryDirectory directory_{test::memory_disk()};
  std::vector<VerticalJob> made_;
  VerticalOracle oracle_;
  std::vector<std::vector<Party>> parties_;  // by job
  std::array<std::unique_ptr<Signer>, kVerticalParties.size()> signers_;
  std::array<vertical::PeerIdentity, kVerticalParties.size() + 1> identities_;  // the parties', and a stranger's
  SimulatedCoordinator coordinator_;
  uint32_t coordinator_kills_ = 0;
  uint64_t pieces_ = 0;
  std::vector<std::unique_ptr<SimulatedProcess>> processes_;
};

VerticalVerdict simulate_vertical(const VerticalOptions& options);

}  // namespace coterie::simulation
