// TokenBuckets: how often each of many callers may ask. Pure, with bounded memory.
//
// A caller's bucket holds `burst` tokens and is refilled with `per_second` a second; each request takes one. Kept as
// the generic cell rate algorithm (ITU-T I.371): one instant a caller, the moment at which the bucket will be full
// again. At most `callers_max` are remembered, those that asked last; who was forgotten has a full bucket, as has who
// never asked. So whoever has more names than that is not held here, but by what bounds all callers together.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include "base/time.h"

namespace coterie {

struct TokenBucketSettings {
  double per_second = 20;  // 0: no limit
  uint32_t burst = 200;    // at least 1
  size_t callers_max = 100'000;
};

// A device's id, or an address: sixteen bytes, hashed under a secret of this process, so that nobody makes names that
// collide.
using CallerKey = std::array<uint64_t, 2>;
struct CallerHash {
  uint64_t secret;
  size_t operator()(const CallerKey& key) const;
};

class TokenBuckets {
 public:
  TokenBuckets(TokenBucketSettings settings, uint64_t secret) : settings_(settings), callers_(0, CallerHash{secret}) {}

  // Takes a token: nothing. Or there is none: how long until there is.
  std::optional<Millis> take(const CallerKey& caller, Instant now);
  // The same, taking none.
  std::optional<Millis> look(const CallerKey& caller, Instant now) const;
  bool knows(const CallerKey& caller) const { return callers_.contains(caller); }
  size_t size() const { return callers_.size(); }

 private:
  using Micros = std::chrono::microseconds;
  struct Bucket {
    CallerKey caller;
    Micros full_at;  // since the clock's epoch
  };
  std::optional<Millis> wait_for_token(Micros full_at, Micros now) const;
  Micros period() const { return Micros(static_cast<int64_t>(1e6 / settings_.per_second)); }

  TokenBucketSettings settings_;
  std::list<Bucket> by_use_;  // the last to ask in front
  std::unordered_map<CallerKey, std::list<Bucket>::iterator, CallerHash> callers_;
};

}  // namespace coterie
