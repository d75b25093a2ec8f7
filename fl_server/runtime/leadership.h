// Leadership: the shell around LeaseKeeper. One thread keeps the time, another asks the store: a store that hangs does
// not hide that the lease is over.
#pragma once

#include <functional>
#include <string>

#include "fl_server/runtime/work_loop.h"
#include "fl_server/store/lease_store.h"
#include "scheduler/lease/lease_keeper.h"

namespace coterie {

class Leadership {
 public:
  // `holder` names this life of this process. `leases` outlives this.
  Leadership(LeaseSettings settings, LeaseStore& leases, std::string lease, std::string holder);
  ~Leadership() { stop(); }

  // Each is called at most once, `held` first, on a thread of this class, and must not block: while one runs, no time
  // is kept.
  void start(std::function<void(LeaseEpoch)> held, std::function<void(const std::string& reason)> lost);
  // Gives the lease back, so that another need not wait for its end. Afterwards nothing is called.
  void stop();

 private:
  void run(const LeaseEffects& effects);  // on time_
  void perform(const AskLease& ask);

  LeaseStore& leases_;
  const std::string lease_;
  const std::string holder_;
  const Millis ttl_;
  LeaseKeeper keeper_;  // of time_'s thread
  std::function<void(LeaseEpoch)> held_;
  std::function<void(const std::string&)> lost_;
  bool is_started_ = false;
  WorkLoop store_;
  WorkLoop time_;
};

}  // namespace coterie
