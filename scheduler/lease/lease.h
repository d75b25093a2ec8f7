// Lease: the right to do something alone for a while, kept as a row of the store. Its time is the store's own clock;
// whoever holds it counts from before it asked, on a monotonic clock, and so gives up before anybody else is given the
// right.
//
// Leases are for liveness: they say who shall act. That nothing is done twice is the store's work: every move of a
// round is a compare-and-set, and names the epoch of the lease it is made under (a fencing token; Kleppmann 2016, "How
// to do distributed locking").
#pragma once

#include <string>

#include "base/ids.h"
#include "base/time.h"

namespace coterie {

// Grows by one whenever the lease goes to another holder; 0: it was never held.
using LeaseEpoch = StrongId<struct LeaseEpochTag, uint64_t>;

// The row as it is after somebody asked for it.
struct LeaseAnswer {
  bool is_granted = false;
  LeaseEpoch epoch;
  std::string holder;  // who has it now
  Millis left{0};      // until it expires, by the store's clock
  friend bool operator==(const LeaseAnswer&, const LeaseAnswer&) = default;
};

struct LeaseSettings {
  Millis ttl{10'000};  // a holder that is gone is replaced after this long at most, and the wait between two questions
  Millis renew_every{3'000};  // how often a holder renews it, and how often others ask
  Millis retry_delay{500};    // after a question that failed
  // A holder stops acting so long before its time is over: for clocks that do not run alike.
  Millis margin() const { return ttl / 10; }
};

}  // namespace coterie
