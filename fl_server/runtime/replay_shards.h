// ReplayShards: ReplayGuards that share the nonces, so that network threads seldom wait for each other. Thread-safe.
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "secure/crypto/short_hash.h"
#include "secure/identity/replay_guard.h"

namespace coterie {

class ReplayShards {
 public:
  static constexpr size_t kShards = 16;

  // As a ReplayGuard's; each shard has its part of `entries_max`.
  ReplayShards(Millis skew_max, size_t entries_max);
  Status admit(const RequestClaims& claims, WallTime now);

 private:
  struct Shard {
    explicit Shard(ReplayGuard g) : guard(std::move(g)) {}
    std::mutex mutex;
    ReplayGuard guard;
  };
  const ShortHash place_ = ShortHash::fresh();  // of a request's shard; each shard's table has a key of its own
  std::array<std::unique_ptr<Shard>, kShards> shards_;
};

}  // namespace coterie
