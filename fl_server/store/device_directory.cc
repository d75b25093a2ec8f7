#include "fl_server/store/device_directory.h"

namespace coterie {

Result<DeviceRecord> DeviceDirectory::find(const DeviceId& id) {
  uint64_t changes_before = 0;
  {
    const std::lock_guard lock(mutex_);
    changes_before = changes_;
    if (const auto found = cache_.find(id); found != cache_.end()) return found->second;
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
  cache_.insert_or_assign(id, *device);
  return device;
}

void DeviceDirectory::forget(const DeviceId& id) {
  const std::lock_guard lock(mutex_);
  cache_.erase(id);
  ++changes_;
}

}  // namespace coterie
