#include "fl_server/runtime/replay_shards.h"

namespace coterie {

ReplayShards::ReplayShards(Millis skew_max, size_t entries_max) {
  const size_t part = (entries_max + kShards - 1) / kShards;
  for (auto& shard : shards_) shard = std::make_unique<Shard>(ReplayGuard(skew_max, part, ShortHash::fresh()));
}

Status ReplayShards::admit(const RequestClaims& claims, WallTime now) {
  Shard& shard = *shards_[place_(claims.nonce) % kShards];
  const std::lock_guard lock(shard.mutex);
  return shard.guard.admit(claims, now);
}

}  // namespace coterie
