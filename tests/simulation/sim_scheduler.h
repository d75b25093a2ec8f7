// SimScheduler: one of the processes that may lead, on virtual time: the machines that ship (lease keeper, round, lead
// of a fleet) and the finalizer that ships, with an event queue in the place of threads. It dies, stands still and is
// cut off; one that has lost the lead starts anew.
#pragma once

#include <map>
#include <optional>

#include "scheduler/fleet/lead_machine.h"
#include "scheduler/lease/lease_keeper.h"
#include "scheduler/round/round_machine.h"
#include "tests/simulation/world.h"

namespace coterie::simulation {

class SimScheduler {
 public:
  SimScheduler(World& world, uint32_t index) : world_(world), index_(index) {}

  void boot();
  void crash();
  // Does nothing for so long, and does not know it: whatever comes meanwhile is looked at afterwards.
  void stand_still(Millis time);
  void cut_off(Instant until) { reached_from_ = until; }

 private:
  void die(Millis rest_max);
  void run(const LeaseEffects& effects);
  void ask_for_lease(uint64_t serial);
  void lead(LeaseEpoch epoch);
  void step(LeadEvent event);
  void perform(const LeadEffect& effect);
  void hear();
  void write(const PostedBoard& board);
  void tell_pool();
  void step(const RoundEvent& event);
  void run(RoundEffects effects);
  void publish(const PublishRound& published);
  void ask(uint64_t serial, const RoundRequest& request);
  void finalize(uint64_t serial, const FinalizeRound& request);
  void arm();
  // Wraps an event so that it happens only in this life, and not while this process stands still.
  std::function<void()> guard(std::function<void()> event);
  // The store does `work` only if this one still leads.
  template <typename Value>
  std::function<Result<Value>()> fenced(std::function<Result<Value>()> work);
  template <typename Answer, typename Value>
  void ask_store(uint64_t serial, std::function<Result<Value>()> work);

  World& world_;
  uint32_t index_;
  bool alive_ = false;
  uint64_t incarnation_ = 0;
  Instant still_until_{};
  Instant reached_from_{};
  std::optional<LeaseKeeper> keeper_;
  std::optional<LeaseEpoch> epoch_;  // it leads, or thinks so
  std::optional<RoundMachine> machine_;
  std::optional<LeadMachine> lead_;
  std::optional<RoundKey> posted_;  // the job's round on the board
  uint64_t waiting_ = 0;            // devices, at so many nodes
  uint32_t nodes_ = 0;
  std::optional<Instant> armed_;
  std::vector<PartialRecord> early_;  // for Mutant::early_partials
};

}  // namespace coterie::simulation
