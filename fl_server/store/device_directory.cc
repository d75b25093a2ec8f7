#include "fl_server/store/device_directory.h"

#include <algorithm>

#include "fl_server/records/device_day.h"

namespace coterie {

Result<DeviceRecord> DeviceDirectory::find(const DeviceId& id) {
  uint64_t changes_before = 0;
  {
    const std::lock_guard lock(mutex_);
    changes_before = changes_;
    if (const auto found = cache_.find(id); found != cache_.end()) return found->second.device;
  }
  Result<DeviceRecord> device = store_.get_device(id);
  if (!device) {
    if (device.error().code() != ErrorCode::not_found) return device;
    return Error(ErrorCode::unauthenticated, "this device is not enrolled here; enroll it with a token first");
  }
  if (device->revoked) return Error(ErrorCode::permission_denied, "this device was revoked by the operator");
  const std::lock_guard lock(mutex_);
  if (changes_ != changes_before) return device;
  if (cache_.size() >= entries_max_) cache_.erase(cache_.begin());  // any one: keys are digests, so this is random
  cache_.insert_or_assign(id, Entry{*device});
  return device;
}

void DeviceDirectory::forget(const DeviceId& id) {
  const std::lock_guard lock(mutex_);
  cache_.erase(id);
  ++changes_;
}

void DeviceDirectory::note_seen(const DeviceId& id, Instant now) {
  const std::lock_guard lock(mutex_);
  const auto found = cache_.find(id);
  if (found == cache_.end() || unwritten_.size() >= entries_max_) return;  // its next request says so again
  std::optional<Instant>& noted = found->second.noted;
  if (noted && now - *noted < kDeviceDay) return;
  noted = now;
  unwritten_.push_back(id);
}

Result<bool> DeviceDirectory::write_seen(size_t limit) {
  std::vector<DeviceId> some;
  {
    const std::lock_guard lock(mutex_);
    const size_t count = std::min(limit, unwritten_.size());
    some.assign(unwritten_.end() - static_cast<std::ptrdiff_t>(count), unwritten_.end());
    unwritten_.resize(unwritten_.size() - count);
  }
  if (some.empty()) return false;
  std::ranges::sort(some);  // nodes of a fleet that write the same rows lock them in the same order
  const Result<std::vector<DeviceId>> unknown = store_.mark_seen(some);
  if (!unknown) {
    const std::lock_guard lock(mutex_);
    const size_t room = entries_max_ - std::min(entries_max_, unwritten_.size());
    some.resize(std::min(some.size(), room));
    unwritten_.insert(unwritten_.end(), some.begin(), some.end());
    return unknown.error();
  }
  for (const DeviceId& id : *unknown) forget(id);  // it was forgotten while it was in the cache: let it enroll again
  const std::lock_guard lock(mutex_);
  return !unwritten_.empty();
}

}  // namespace coterie
