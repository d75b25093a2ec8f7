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
#include "secure/crypto/short_hash.h"
#include "secure/identity/request_signature.h"

namespace coterie {

class ReplayGuard {
 public:
  // `skew_max` as given to verify_request.
  ReplayGuard(Millis skew_max, size_t entries_max, const ShortHash& hash)
      : skew_max_(skew_max), entries_max_(entries_max), current_(0, Hash{hash}), previous_(0, Hash{hash}) {}

  // Call after the signature was found valid. unauthenticated for a nonce seen before.
  Status admit(const RequestClaims& claims, WallTime now);

  struct Entry {
    DeviceId device;
    Nonce nonce;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  // Keyed: devices choose both, the one with their key and the other as they like, and would fill one bucket.
  struct Hash {
    ShortHash hash;
    size_t operator()(const Entry& entry) const;
  };

 private:
  using Generation = std::unordered_set<Entry, Hash>;

  Millis skew_max_;
  size_t entries_max_;
  Generation current_, previous_;
  WallTime current_since_{};
};

}  // namespace coterie
