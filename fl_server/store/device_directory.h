// DeviceDirectory: device keys, looked up on every request: the store behind a bounded cache. Thread-safe.
#pragma once

#include <mutex>
#include <unordered_map>

#include "fl_server/store/device_store.h"

namespace coterie {

class DeviceDirectory {
 public:
  DeviceDirectory(DeviceStore& store, size_t entries_max) : store_(store), entries_max_(entries_max) {}

  // unauthenticated for an unknown device, permission_denied for a revoked one.
  Result<DeviceRecord> find(const DeviceId& id);
  // After a change in the store.
  void forget(const DeviceId& id);

 private:
  DeviceStore& store_;
  size_t entries_max_;
  std::mutex mutex_;
  std::unordered_map<DeviceId, DeviceRecord> cache_;
  uint64_t changes_ = 0;  // calls of forget(): a row that was read before one of them may be out of date
};

}  // namespace coterie
