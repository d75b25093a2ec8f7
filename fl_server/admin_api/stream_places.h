// StreamPlaces: how many streams of events may be open, in all and of one tenant, so that none takes them all. Held by
// shared_ptr: the last place may be given back after the service has ended. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "fl_server/records/tenant.h"

namespace coterie {

class StreamPlaces : public std::enable_shared_from_this<StreamPlaces> {
 public:
  explicit StreamPlaces(uint32_t places_max) : places_max_(places_max) {}

  uint32_t places_max() const { return places_max_; }
  // Half of them, or the only one; who sees every tenant may have all.
  uint32_t places_max_of(const std::string& tenant) const {
    return tenant == kEveryTenant ? places_max_ : (places_max_ + 1) / 2;
  }

  // A place, given back with its last holder; null: there is none.
  std::shared_ptr<void> take(const std::string& tenant) {
    const std::lock_guard lock(mutex_);
    const auto found = taken_of_.find(tenant);
    const uint32_t of_tenant = found == taken_of_.end() ? 0 : found->second;
    if (taken_ >= places_max_ || of_tenant >= places_max_of(tenant)) return nullptr;
    ++taken_;
    ++taken_of_[tenant];
    return {this, [self = shared_from_this(), tenant](void*) { self->give_back(tenant); }};
  }

 private:
  void give_back(const std::string& tenant) {
    const std::lock_guard lock(mutex_);
    --taken_;
    const auto found = taken_of_.find(tenant);
    if (--found->second == 0) taken_of_.erase(found);  // tenants come and go
  }

  const uint32_t places_max_;
  std::mutex mutex_;
  uint32_t taken_ = 0;
  std::map<std::string, uint32_t> taken_of_;
};

}  // namespace coterie
