// AskedOracle: who asked in which attempt at one life of a node, noted beside the desk, and what its desk must say of
// them (scheduler/selection/gate_accounts.h).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/round/round_notice.h"
#include "scheduler/selection/checkin_desk.h"
#include "scheduler/selection/told_gates.h"

namespace coterie::simulation {

class AskedOracle {
 public:
  // ---- Before the desk hears of it
  void asks(WaiterId waiter, const DeviceId& device);
  void served(const RoundNotice& notice, const std::vector<DeviceId>& accepted);
  void withdrawn(const RoundKey& key) { rounds_[key].is_open = false; }
  void accepted(const RoundKey& key, const DeviceId& device);
  // ---- Behind it
  void answered(WaiterId waiter) { waiting_.erase(waiter); }
  void got_ticket(const RoundKey& key, const DeviceId& device) { rounds_[key].ticketed.insert(device); }

  // What is wrong with it, if something is.
  std::optional<std::string> judge(const ToldGates& told) const;

 private:
  struct Round {
    bool is_open = false;
    std::set<DeviceId> counted_before;  // as the store has said
    std::set<DeviceId> asked, ticketed, counted;
  };
  static void asks_in(Round& round, const DeviceId& device);

  std::map<WaiterId, DeviceId> waiting_;
  std::map<RoundKey, Round> rounds_;
};

}  // namespace coterie::simulation
