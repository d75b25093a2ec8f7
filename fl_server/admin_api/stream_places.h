// StreamPlaces: how many streams of events may be open, in all and of one tenant, so that none takes them all. Held by
// shared_ptr: the last place may be given back after the service has ended. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "fl_server/records/quota.h"
#include "fl_server/records/tenant.h"

namespace coterie {

class StreamPlaces : public std::enable_shared_from_this<StreamPlaces> {
 public:
  // Who sees every tenant may have all.
  StreamPlaces(uint64_t places_max, uint64_t of_tenant_max) : places_max_(places_max), of_tenant_max_(of_tenant_max) {}

  // A place, given back with its last holder. rate_limited: there is none; over_quota.
  Result<std::shared_ptr<void>> take(const std::string& tenant) {
    const std::lock_guard lock(mutex_);
    const uint64_t of_tenant = taken_of_locked(tenant);
    if (tenant != kEveryTenant && of_tenant >= of_tenant_max_) {
      return over_quota(Quota::event_streams, tenant, of_tenant_max_, of_tenant + 1);
    }
    if (taken_ >= places_max_) {
      return Error(ErrorCode::rate_limited, "there are " + std::to_string(taken_) +
                                                " streams of events, the most there may be; ask for the rounds now "
                                                "and then instead");
    }
    ++taken_;
    ++taken_of_[tenant];
    return std::shared_ptr<void>(this, [self = shared_from_this(), tenant](void*) { self->give_back(tenant); });
  }

  uint64_t taken_of(const std::string& tenant) const {
    const std::lock_guard lock(mutex_);
    return taken_of_locked(tenant);
  }

 private:
  uint64_t taken_of_locked(const std::string& tenant) const {
    const auto found = taken_of_.find(tenant);
    return found == taken_of_.end() ? 0 : found->second;
  }
  void give_back(const std::string& tenant) {
    const std::lock_guard lock(mutex_);
    --taken_;
    const auto found = taken_of_.find(tenant);
    if (--found->second == 0) taken_of_.erase(found);  // tenants come and go
  }

  const uint64_t places_max_;
  const uint64_t of_tenant_max_;
  mutable std::mutex mutex_;
  uint64_t taken_ = 0;
  std::map<std::string, uint64_t> taken_of_;
};

}  // namespace coterie
