// LeaseStore: rows that say who may act alone (scheduler/lease/lease.h). Time is the store's own; epochs only grow.
//
// Thread-safe. Errors as in job_store.h: taking a lease again, and giving it back again, are safe.
#pragma once

#include <string>

#include "base/result.h"
#include "scheduler/lease/lease.h"

namespace coterie {

class LeaseStore {
 public:
  virtual ~LeaseStore() = default;
  // Takes the lease if nobody has it, its time is over, or `holder` has it already: then it lasts `ttl` from now. A new
  // holder gets a new epoch. `holder` names one life of one process.
  virtual Result<LeaseAnswer> take_lease(const std::string& name, const std::string& holder, Millis ttl) = 0;
  // Its time is over now, if `holder` has it; otherwise nothing happens.
  virtual Status give_lease(const std::string& name, const std::string& holder) = 0;
};

}  // namespace coterie
