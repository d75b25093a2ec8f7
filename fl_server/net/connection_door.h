// ConnectionDoor: a listener's ConnectionTable, for threads: connections are accepted on one and end on all.
#pragma once

#include <mutex>

#include "fl_server/core/connection_table.h"

namespace coterie {

class ConnectionDoor {
 public:
  ConnectionDoor(ConnectionTableSettings settings, uint64_t secret) : table_(settings, secret) {}

  EntryDecision enter(const CallerKey& address, bool is_trusted, Instant now) {
    const std::lock_guard lock(mutex_);
    return table_.enter(address, is_trusted, now);
  }
  void known(ConnectionId id) {
    const std::lock_guard lock(mutex_);
    table_.known(id);
  }
  void closed(ConnectionId id) {
    const std::lock_guard lock(mutex_);
    table_.closed(id);
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return table_.size();
  }

 private:
  mutable std::mutex mutex_;
  ConnectionTable table_;
};

}  // namespace coterie
