// AuditLog: writes what callers of the admin plane do into the store's audit log. Thread-safe; blocks.
//
// What is done is written twice: before it is done (begun), so that nothing is done that the log does not
// have, even when the process dies in the middle; and with its outcome, before the answer leaves. What is
// refused is written once, and only so often in a minute that strangers cannot fill a disk; the next refusal
// that is written says how many were not.
#pragma once

#include <mutex>

#include "fl_server/store/admin_store.h"

namespace coterie {

class AuditLog {
 public:
  static constexpr uint32_t kStrangerRefusalsPerMinuteMax = 10;  // of all who have no token of ours
  static constexpr uint32_t kKnownRefusalsPerMinuteMax = 60;     // of all who have one, and not the role

  explicit AuditLog(AdminStore& store) : store_(store) {}

  // `entry` without number and time.
  Status write(AuditEntry entry, WallTime now);
  // Whether a refusal now may be written; if not, it is counted. `known`: who asked has a token.
  bool admits_refusal(bool known, Instant now);
  // Writes a refusal that was admitted: `entry` as above. An error leaves the refusal as it is, without its
  // record.
  Status write_refusal(AuditEntry entry, bool known, WallTime now);

 private:
  struct Minute {
    Instant began;
    uint32_t written = 0;
    uint64_t unwritten = 0;  // since the last one that was written
  };
  Minute& minute_of(bool known) { return known ? known_ : strangers_; }

  AdminStore& store_;
  std::mutex mutex_;
  Minute strangers_, known_;
};

}  // namespace coterie
