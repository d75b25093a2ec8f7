// Leading: this server's claim to lead its fleet: it stands for the lease, and begins to lead when it has it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "fl_server/runtime/work_loop.h"
#include "scheduler/lease/lease.h"

namespace coterie {

class FleetLead;
class FleetSide;
class Leadership;
class RetentionLoop;
struct Observers;
class RoundScheduler;
struct ServerConfig;
class ServerStores;

// All of it outlives whoever leads.
struct LeadingParts {
  ServerStores& stores;  // with leases and the board
  RoundScheduler& scheduler;
  FleetSide& fleet;
  Observers& observers;
};

class Leading {
 public:
  struct Calls {
    std::function<void()> on_led;                         // it leads from now on
    std::function<void(const std::string& why)> on_lost;  // it does not any more, or cannot: the process is to end
  };
  // Stands for the lease from now on. Both calls come on threads of this class, `on_led` at most once.
  // `config` outlives it.
  Leading(const ServerConfig& config, LeadingParts parts, Calls calls);
  ~Leading();

  // ---- The three steps of leaving, in this order; what is between them is the server's to say
  // What it has begun to lead is begun; nothing is begun any more.
  void finish_beginning() { begin_.stop(); }
  // After the scheduler has stopped: the board stands as it is.
  void stop_lead();
  // After the last write: another leads at once.
  void give_lease_back();

 private:
  void begin(LeaseEpoch epoch);

  const ServerConfig& config_;
  LeadingParts parts_;
  const Calls calls_;
  std::unique_ptr<FleetLead> lead_;  // once it leads
  std::unique_ptr<RetentionLoop> retention_;
  WorkLoop begin_;  // beginning takes a while, and the lease is renewed meanwhile
  std::unique_ptr<Leadership> leadership_;
};

}  // namespace coterie
