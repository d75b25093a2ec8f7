#include "fl_server/core/token_buckets.h"

#include <algorithm>

namespace coterie {
namespace {

std::chrono::microseconds since_epoch(Instant now) { return now.time_since_epoch(); }

}  // namespace

// Two rounds of SplitMix64's finalizer, keyed.
size_t CallerHash::operator()(const CallerKey& key) const {
  const auto mix = [](uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  return mix(mix(key[0] ^ secret) + key[1] + (secret << 1));
}

// One token more than there is room for would overfill the time ahead: it has to wait for the difference.
std::optional<Millis> TokenBuckets::wait_for_token(Micros full_at, Micros now) const {
  const Micros after = std::max(full_at, now) + period();
  const Micros wait = after - now - period() * settings_.burst;
  if (wait <= Micros(0)) return std::nullopt;
  return std::chrono::ceil<Millis>(wait);
}

std::optional<Millis> TokenBuckets::look(const CallerKey& caller, Instant now) const {
  const auto found = callers_.find(caller);
  if (found == callers_.end() || settings_.per_second <= 0) return std::nullopt;
  return wait_for_token(found->second->full_at, since_epoch(now));
}

std::optional<Millis> TokenBuckets::take(const CallerKey& caller, Instant now) {
  if (settings_.per_second <= 0) return std::nullopt;
  auto found = callers_.find(caller);
  if (found == callers_.end()) {
    // Forgotten is whoever has not asked for the longest time: that bucket is the most likely to be full again.
    if (callers_.size() >= settings_.callers_max) {
      callers_.erase(by_use_.back().caller);
      by_use_.pop_back();
    }
    by_use_.push_front({caller, since_epoch(now)});
    found = callers_.emplace(caller, by_use_.begin()).first;
  } else {
    by_use_.splice(by_use_.begin(), by_use_, found->second);
  }
  Bucket& bucket = *found->second;
  // A refusal takes no token: who asks too often does not put off the moment at which there is one.
  if (const std::optional<Millis> wait = wait_for_token(bucket.full_at, since_epoch(now))) return wait;
  bucket.full_at = std::max(bucket.full_at, since_epoch(now)) + period();
  return std::nullopt;
}

}  // namespace coterie
