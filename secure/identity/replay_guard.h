// ReplayGuard: a signed request counts once. Remembers the nonces of the time window in which a signature is valid.
//
// Defence in depth: every device route is idempotent for the device that signed (a replayed check-in yields a ticket
// only that device can use, a replayed upload its receipt). So memory comes first: two generations of nonces, each of
// at most `entries_max`; between entries_max and 2 * entries_max of the latest requests are remembered, older replays
// pass. Not thread-safe.
#pragma once

#include <unordered_set>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "secure/identity/request_signature.h"

namespace coterie {

class ReplayGuard {
 public:
  // `skew_max` as given to verify_request.
  ReplayGuard(Millis skew_max, size_t entries_max) : skew_max_(skew_max), entries_max_(entries_max) {}

  // Call after the signature was found valid. unauthenticated for a nonce seen before.
  Status admit(const RequestClaims& claims, WallTime now);

 private:
  struct Entry {
    DeviceId device;
    Nonce nonce;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  struct Hash {
    size_t operator()(const Entry& entry) const;
  };
  using Generation = std::unordered_set<Entry, Hash>;

  Millis skew_max_;
  size_t entries_max_;
  Generation current_, previous_;
  WallTime current_since_{};
};

}  // namespace coterie
