// FleetLead: the side of a fleet of the one that leads. One thread hears what the nodes say, tells the scheduler what
// it comes to, deals tickets, and writes the board.
//
// Threading: every public method may be called from any thread.
#pragma once

#include <map>
#include <string>

#include "fl_server/fleet/fleet_text.h"
#include "fl_server/runtime/fleet_link.h"
#include "fl_server/runtime/work_loop.h"
#include "fl_server/settings/fleet_settings.h"
#include "fl_server/store/fleet_store.h"
#include "scheduler/fleet/fleet_tally.h"

namespace coterie {

class RoundScheduler;

class FleetLead final : public RoundBoard {
 public:
  // `store` outlives this. `owner_url`: where nodes reach this one for secure aggregation.
  FleetLead(FleetSettings settings, FleetStore& store, std::string owner_url);
  ~FleetLead() override { stop(); }

  // `scheduler` outlives this. What the board says is left standing for a moment: rounds that go on are not
  // interrupted.
  void start(std::string lease, LeaseEpoch epoch, RoundScheduler& scheduler);
  void stop() { loop_.stop(); }

  // ---- From the scheduler
  void serve(const ServedRound& round) override;
  void withdraw(const RoundKey& key) override;
  void updates_due(const RoundKey& key, uint64_t total) override;

 private:
  void tick();
  Status hear();
  void tell_scheduler();
  void write();

  FleetSettings settings_;
  FleetStore& store_;
  std::string lease_;
  LeaseEpoch epoch_;
  RoundScheduler* scheduler_ = nullptr;

  // All below are the loop's.
  FleetTally tally_;
  PostedBoard board_;
  std::string written_;
  std::map<Population, uint64_t> told_waiting_;
  std::map<RoundKey, uint32_t> told_issued_;
  std::map<RoundKey, uint64_t> told_accepted_;
  uint32_t told_nodes_ = UINT32_MAX;
  Instant tick_at_{};
  Instant write_from_{};  // not before: rounds that go on have to be heard of first
  Instant look_at_{};     // at the rows, next
  Instant forget_at_{};   // nodes that are gone, next
  bool is_deaf_ = false;
  WorkLoop loop_;
};

}  // namespace coterie
