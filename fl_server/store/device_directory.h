// DeviceDirectory: device keys, looked up on every request: the store behind a bounded cache; and which of them were
// there, for the store to know. Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "fl_server/store/device_store.h"

namespace coterie {

class DeviceDirectory {
 public:
  DeviceDirectory(DeviceStore& store, size_t entries_max) : store_(store), entries_max_(entries_max) {}

  // unauthenticated for an unknown device, permission_denied for a revoked one.
  Result<DeviceRecord> find(const DeviceId& id);
  // After a change in the store.
  void forget(const DeviceId& id);

  // A device that find() has found is there. Written once a day, by write_seen(); asks no store.
  void note_seen(const DeviceId& id, Instant now);
  // Writes some of what was noted, in one transaction. False: all is written. After an error it is still to be written.
  Result<bool> write_seen(size_t limit);

 private:
  struct Entry {
    DeviceRecord device;
    std::optional<Instant> noted = {};
  };

  DeviceStore& store_;
  size_t entries_max_;
  std::mutex mutex_;
  std::unordered_map<DeviceId, Entry> cache_;
  std::vector<DeviceId> unwritten_;  // entries_max_ at most
  uint64_t changes_ = 0;             // calls of forget(): a row that was read before one of them may be out of date
};

}  // namespace coterie
