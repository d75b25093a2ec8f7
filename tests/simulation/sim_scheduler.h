// SimScheduler: one of the processes that may lead, on virtual time: the machines that ship (lease keeper, round,
// served rounds, live attempts, lead of a fleet) and the finalizer that ships, with an event queue in the place of
// threads. It dies, stands still and is cut off; one that has lost the lead starts anew.
#pragma once

#include <map>
#include <optional>
#include <variant>

#include "fl_server/core/live_attempts.h"
#include "fl_server/core/served_rounds.h"
#include "scheduler/fleet/lead_machine.h"
#include "scheduler/lease/lease_keeper.h"
#include "scheduler/round/round_machine.h"
#include "tests/simulation/sessions/server_port.h"
#include "tests/simulation/world.h"

namespace coterie::simulation {

class SimScheduler {
 public:
  SimScheduler(World& world, uint32_t index) : world_(world), index_(index) {}

  bool alive() const { return alive_; }
  // Where nodes reach this life of it for secure aggregation.
  std::string url() const { return "scheduler" + std::to_string(index_) + "/" + std::to_string(incarnation_); }

  void boot();
  void crash();
  // Does nothing for so long, and does not know it: whatever comes meanwhile is looked at afterwards.
  void stand_still(Millis time);
  void cut_off(Instant until) { reached_from_ = until; }

  // ---- Secure aggregation: requests of devices, passed on by nodes (sim_scheduler_cohorts.cc)
  void exchange(const RoundKey& key, const DeviceId& device, const Bytes& public_key, std::optional<CohortMessage> told,
                std::optional<CohortQuestion> asked, Reply reply);
  void arrived(const RoundKey& key, const DeviceId& device, const MaskedInput& input,
               std::function<void(Status)> reply);

 private:
  using Taken = std::function<void(Status)>;
  using Asked = std::function<void(Result<CohortReply>)>;

  void die(Millis rest_max);
  void run(const LeaseEffects& effects);
  void ask_for_lease(uint64_t serial);
  void lead(LeaseEpoch epoch);
  void step(LeadEvent event);
  void perform(const LeadEffect& effect);
  void hear();
  void write(const PostedBoard& board);
  void step(const RoundEvent& event);
  void run(RoundEffects effects);
  void step(const ServingEvent& event);
  void ask_before_serving(const AskBeforeServing& asked);
  void serve(const ServePublished& served);
  void ask(uint64_t serial, const RoundRequest& request);
  void tell(const TellJob& told);

  void step(LiveEvent event);
  void begin_cohorts(const ServePublished& served);
  void list_rows(const RoundKey& key);
  void finalize(const FinalizeNow& asked);
  CohortCall expect(std::variant<Taken, Asked> answer);
  std::variant<Taken, Asked> take(CohortCall call);
  void ask_accepted(const RoundKey& key, std::function<void(Result<std::vector<DeviceId>>)> answer);

  void arm();
  // Wraps an event so that it happens only in this life, and not while this process stands still.
  std::function<void()> guard(std::function<void()> event);
  // In the next turn of this process's loop.
  void post(std::function<void()> event) { world_.queue().after(Millis(0), guard(std::move(event))); }
  // The store does `work` only if this one still leads.
  template <typename Value>
  std::function<Result<Value>()> fenced(std::function<Result<Value>()> work);
  template <typename Returned, typename Value>
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
  std::optional<ServedRounds> served_;
  std::optional<LiveAttempts> attempts_;
  std::map<CohortCall, std::variant<Taken, Asked>> calls_;  // of devices that wait for an answer
  uint64_t last_call_ = 0;
  std::optional<Instant> armed_;
  std::vector<PartialRecord> early_;  // for Mutant::early_partials
};

}  // namespace coterie::simulation
