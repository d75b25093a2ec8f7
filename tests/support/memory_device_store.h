// MemoryDeviceStore: the DeviceStore contract as plainly as it can be written: the model that real back-ends
// are compared with.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "fl_server/records/device_day.h"
#include "fl_server/store/device_store.h"

namespace coterie::test {

class MemoryDeviceStore : public DeviceStore {
 public:
  Status create_token(const TokenRecord& token, const std::optional<QuotaClaim>& owner = {}) override {
    const std::lock_guard lock(mutex_);
    if (owner) {
      const auto is_his = [&](const auto& entry) { return owner_of(entry.second.population) == owner->tenant; };
      const auto seen = static_cast<uint64_t>(std::ranges::count_if(tokens_, is_his)) + 1;
      if (seen > owner->most) return over_quota(Quota::enrollment_tokens, owner->tenant, owner->most, seen);
    }
    if (!tokens_.try_emplace(token.digest, token).second) return Error(ErrorCode::conflict, "token exists");
    return {};
  }
  Result<std::vector<TokenRecord>> list_tokens() override {
    const std::lock_guard lock(mutex_);
    std::vector<TokenRecord> tokens;
    for (const auto& [digest, token] : tokens_) tokens.push_back(token);
    std::ranges::stable_sort(tokens, {}, &TokenRecord::created);
    return tokens;
  }
  Status remove_token(const Digest& digest) override {
    const std::lock_guard lock(mutex_);
    if (tokens_.erase(digest) == 0) return Error(ErrorCode::not_found, "no such token");
    return {};
  }

  Result<DeviceRecord> enroll(const Digest& digest, DeviceRecord device, WallTime now) override {
    const std::lock_guard lock(mutex_);
    if (const auto known = devices_.find(device.id); known != devices_.end()) {
      if (known->second.revoked) return Error(ErrorCode::permission_denied, "this device was revoked");
      return known->second;
    }
    const auto token = tokens_.find(digest);
    if (token == tokens_.end() || token->second.uses_left == 0 || token->second.expires <= now) {
      return Error(ErrorCode::unauthenticated, "the enrollment token is unknown, used up or expired");
    }
    --token->second.uses_left;
    device.population = token->second.population;
    devices_.emplace(device.id, device);
    return device;
  }
  Result<DeviceRecord> get_device(const DeviceId& id) override {
    const std::lock_guard lock(mutex_);
    const auto found = devices_.find(id);
    if (found == devices_.end()) return Error(ErrorCode::not_found, "no such device");
    return found->second;
  }
  Result<std::vector<DeviceRecord>> list_devices(const DeviceQuery& query) override {
    const std::lock_guard lock(mutex_);
    std::vector<DeviceRecord> devices;
    for (const auto& [id, device] : devices_) {
      if (id > query.after && fits(device, query) && devices.size() < query.limit) devices.push_back(device);
    }
    return devices;
  }
  Result<uint64_t> count_devices(const DeviceQuery& query) override {
    const std::lock_guard lock(mutex_);
    return std::ranges::count_if(devices_, [&](const auto& row) { return fits(row.second, query); });
  }
  Status revoke_device(const DeviceId& id, WallTime now) override {
    const std::lock_guard lock(mutex_);
    const auto found = devices_.find(id);
    if (found == devices_.end()) return Error(ErrorCode::not_found, "no such device");
    if (!found->second.revoked) found->second.revoked = now;
    return {};
  }

  Result<std::vector<bool>> take_checkins(const std::vector<CheckinClaim>& claims, WallTime latest) override {
    const std::lock_guard lock(mutex_);
    std::vector<bool> taken;
    for (const CheckinClaim& claim : claims) {
      WallTime& last = checked_in_[claim.device];
      taken.push_back(devices_.contains(claim.device) && (claim.signed_at > last || last > latest));
      if (taken.back()) last = claim.signed_at;
    }
    return taken;
  }
  Result<std::vector<DeviceId>> mark_seen(const std::vector<DeviceId>& devices) override {
    const std::lock_guard lock(mutex_);
    std::vector<DeviceId> unknown;
    for (const DeviceId& id : devices) {
      if (devices_.contains(id)) {
        seen_[id] = day_.number;
      } else {
        unknown.push_back(id);
      }
    }
    return unknown;
  }
  Result<uint64_t> forget_devices(uint32_t unseen_days, WallTime now, size_t limit) override {
    const std::lock_guard lock(mutex_);
    day_ = day_.at(now);
    uint64_t gone = 0;
    for (auto row = devices_.begin(); row != devices_.end() && gone < limit;) {
      const DeviceId id = row->first;
      const uint64_t seen = seen_.try_emplace(id, day_.number).first->second;
      const bool goes = seen + unseen_days < day_.number && !row->second.revoked && !accepted_.contains(id);
      row = goes ? devices_.erase(row) : std::next(row);
      if (goes) seen_.erase(id);
      if (goes) checked_in_.erase(id);
      gone += goes ? 1 : 0;
    }
    return gone;
  }

  // There is an accept row of it from now on.
  void accept(const DeviceId& id) {
    const std::lock_guard lock(mutex_);
    accepted_.insert(id);
  }
  // The population is this tenant's from now on, if it was nobody's.
  void claim(const std::string& population, const std::string& tenant) {
    const std::lock_guard lock(mutex_);
    owners_.try_emplace(population, tenant);
  }

 private:
  std::string owner_of(const Population& population) const {
    const auto owner = owners_.find(population.value());
    return owner == owners_.end() ? "default" : owner->second;
  }
  bool fits(const DeviceRecord& device, const DeviceQuery& query) const {
    return (query.population.empty() || device.population.value() == query.population) &&
           (!query.revoked || *query.revoked == device.revoked.has_value()) &&
           (query.tenant.empty() || query.tenant == owner_of(device.population));
  }

  std::mutex mutex_;
  std::map<Digest, TokenRecord> tokens_;
  std::map<DeviceId, DeviceRecord> devices_;
  std::map<DeviceId, WallTime> checked_in_;
  std::map<DeviceId, uint64_t> seen_;  // day
  std::set<DeviceId> accepted_;
  DeviceDay day_{.number = 1, .began = {}};
  std::map<std::string, std::string> owners_;
};

}  // namespace coterie::test
