// MemoryLeaseStore: leases whose clock a test moves, and that can be made to fail.
#pragma once

#include <map>
#include <mutex>

#include "fl_server/store/lease_store.h"

namespace coterie::test {

class MemoryLeaseStore final : public LeaseStore {
 public:
  Result<LeaseAnswer> take_lease(const std::string& name, const std::string& holder, Millis ttl) override {
    const std::lock_guard lock(mutex_);
    if (is_away_) return Error(ErrorCode::unavailable, "leases: the store is away");
    const auto [found, is_fresh] = rows_.try_emplace(name);
    Row& row = found->second;
    if (!is_fresh && row.holder != holder && row.expires > now_)
      return LeaseAnswer{false, LeaseEpoch(row.epoch), row.holder, row.expires - now_};
    if (is_fresh || row.holder != holder) ++row.epoch;
    row.holder = holder;
    row.expires = now_ + ttl;
    return LeaseAnswer{true, LeaseEpoch(row.epoch), holder, ttl};
  }
  Status give_lease(const std::string& name, const std::string& holder) override {
    const std::lock_guard lock(mutex_);
    if (is_away_) return Error(ErrorCode::unavailable, "leases: the store is away");
    const auto found = rows_.find(name);
    if (found != rows_.end() && found->second.holder == holder)
      found->second.expires = std::min(found->second.expires, now_);
    return {};
  }
  // 0: it was never held.
  LeaseEpoch epoch_of(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = rows_.find(name);
    return LeaseEpoch(found == rows_.end() ? 0 : found->second.epoch);
  }
  // Empty: nobody has it now.
  std::string holder_of(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = rows_.find(name);
    return found == rows_.end() || found->second.expires <= now_ ? std::string() : found->second.holder;
  }
  void pass(Millis time) {
    const std::lock_guard lock(mutex_);
    now_ += time;
  }
  void set_away(bool is_away) {
    const std::lock_guard lock(mutex_);
    is_away_ = is_away;
  }

 private:
  struct Row {
    std::string holder;
    uint64_t epoch = 0;
    Millis expires{0};
  };
  std::mutex mutex_;
  std::map<std::string, Row> rows_;
  Millis now_{1};
  bool is_away_ = false;
};

}  // namespace coterie::test
