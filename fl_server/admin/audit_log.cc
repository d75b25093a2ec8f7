#include "fl_server/admin/audit_log.h"

#include <algorithm>
#include <utility>

namespace coterie {
namespace {

constexpr Millis kMinute{60'000};

}  // namespace

Status AuditLog::write(AuditEntry entry, WallTime now) {
  entry.time = now;
  for (std::string* text : {&entry.who, &entry.roles, &entry.action, &entry.target, &entry.request})
    *text = audit_text(*text);
  const Result<AuditHead> head = store_.append_audit(std::move(entry));
  if (!head) return head.error();
  return {};
}

bool AuditLog::admits_refusal(bool known, Instant now) {
  const std::lock_guard lock(mutex_);
  Minute& minute = minute_of(known);
  if (now >= minute.began + kMinute) {
    minute.began = now;
    minute.written = 0;
  }
  if (minute.written >= (known ? kKnownRefusalsPerMinuteMax : kStrangerRefusalsPerMinuteMax)) {
    ++minute.unwritten;
    return false;
  }
  ++minute.written;
  return true;
}

Status AuditLog::write_refusal(AuditEntry entry, bool known, WallTime now) {
  uint64_t unwritten = 0;
  {
    const std::lock_guard lock(mutex_);
    unwritten = std::exchange(minute_of(known).unwritten, 0);
  }
  if (unwritten > 0) {
    entry.target.resize(std::min(entry.target.size(), kAuditTextCharsMax / 2));
    entry.target += " (" + std::to_string(unwritten) + " refusals before this one were not written)";
  }
  return write(std::move(entry), now);
}

}  // namespace coterie
