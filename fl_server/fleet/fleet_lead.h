// FleetLead: the shell around the LeadMachine of the one that leads, which decides. One thread hears what the nodes
// say, tells the scheduler what it comes to, and writes the board.
//
// Threading: every public method may be called from any thread.
#pragma once

#include <optional>
#include <string>

#include "fl_server/runtime/fleet_link.h"
#include "fl_server/runtime/work_loop.h"
#include "fl_server/settings/fleet_settings.h"
#include "fl_server/store/fleet_store.h"
#include "scheduler/fleet/lead_machine.h"

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
  void serve(const RoundNotice& round) override;
  void withdraw(const RoundKey& key) override;
  void updates_due(const RoundKey& key, uint64_t total) override;

 private:
  // All below run on the loop.
  void step(const LeadEvent& event);
  void perform(const LeadEffect& effect);
  Result<std::vector<NodeRow>> hear();
  Status write(const PostedBoard& board);

  FleetSettings settings_;
  FleetStore& store_;
  std::string owner_url_;
  std::string lease_;
  LeaseEpoch epoch_;
  RoundScheduler* scheduler_ = nullptr;

  std::optional<LeadMachine> machine_;
  bool is_deaf_ = false;  // and the log says so
  WorkLoop loop_;
};

}  // namespace coterie
