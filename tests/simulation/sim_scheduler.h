// SimScheduler: the scheduler's shell around the real round machine, on virtual time.
#pragma once

#include <map>
#include <optional>

#include "scheduler/round/round_machine.h"
#include "tests/simulation/world.h"

namespace coterie::simulation {

class SimScheduler {
 public:
  explicit SimScheduler(World& world) : world_(world) {}

  void boot();
  void crash();

  // ---- Hints from nodes
  void pool_changed(uint32_t node, uint64_t waiting);
  void updates_accepted(const RoundKey& key, uint64_t total);
  void node_wants_rounds(uint32_t node);

 private:
  void step(const RoundEvent& event);
  void run(RoundEffects effects);
  void ask(uint64_t serial, const RoundRequest& request);
  void finalize(uint64_t serial, const FinalizeRound& request);
  void publish_again();
  void arm();
  template <typename Answer, typename Value>
  void ask_store(uint64_t serial, std::function<Result<Value>()> work);

  World& world_;
  uint64_t incarnation_ = 0;
  std::optional<RoundMachine> machine_;
  std::optional<RoundView> view_;
  std::map<uint32_t, uint64_t> waiting_;
  std::optional<Instant> armed_;
};

}  // namespace coterie::simulation
