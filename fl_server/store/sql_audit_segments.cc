// Segments of the audit log.
#include "fl_server/store/sql_admin_store.h"

namespace coterie {

Result<std::vector<AuditSegment>> SqlAdminStore::read_segments() {
  Statement rows = database_.prepare(
      "SELECT before_seq, before_digest, seq, digest, blob, bytes, sealed FROM audit_segment ORDER BY seq");
  std::vector<AuditSegment> segments;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return segments;
    AuditSegment segment{.before = {rows.u64(0), rows.digest(1)},
                         .head = {rows.u64(2), rows.digest(3)},
                         .blob = {},
                         .bytes = rows.u64(5),
                         .sealed = rows.time(6)};
    if (!rows.is_null(4)) segment.blob = rows.digest(4);
    segments.push_back(segment);
  }
}

Result<std::vector<AuditSegment>> SqlAdminStore::list_audit_segments() {
  const std::lock_guard lock(mutex_);
  return read_segments();
}

Status SqlAdminStore::seal_audit(const AuditSegment& segment) {
  const std::lock_guard lock(mutex_);
  return database_.transaction(os::crash::seal_audit, [&]() -> Status {
    Statement lock = database_.prepare("SELECT 1 /*! FROM audit_lock FOR UPDATE */");
    COT_TRY(lock.lock_rows());
    COT_ASSIGN(const std::vector<AuditSegment> segments, read_segments());
    const AuditHead sealed = segments.empty() ? AuditHead{} : segments.back().head;
    Statement last = database_.prepare(
        "SELECT count(*) FROM audit WHERE seq = ?1 AND digest = ?2 AND ?1 < (SELECT max(a.seq) FROM audit a)");
    last << segment.head.seq << segment.head.digest;
    COT_ASSIGN(const bool counted, last.step());
    if (sealed != segment.before || !counted || last.u64(0) != 1) {
      return Error(ErrorCode::conflict, "the audit log is sealed up to record " + std::to_string(sealed.seq) +
                                            ": a segment begins behind it and leaves the newest record");
    }
    Statement insert = database_.prepare(
        "INSERT INTO audit_segment(before_seq, before_digest, seq, digest, blob, bytes, sealed) "
        "VALUES(?, ?, ?, ?, ?, ?, ?)");
    insert << segment.before.seq << segment.before.digest << segment.head.seq << segment.head.digest << segment.blob
           << segment.bytes << segment.sealed;
    return insert.run();
  });
}

// The numbers are without gaps: so many from the first on are the oldest.
Result<uint64_t> SqlAdminStore::forget_audit(size_t limit) {
  const std::lock_guard lock(mutex_);
  uint64_t gone = 0;
  const Status done = database_.transaction(os::crash::forget_audit, [&]() -> Status {
    Statement remove = database_.prepare(
        "DELETE FROM audit WHERE seq <= (SELECT max(s.seq) FROM audit_segment s) "
        "AND seq < (SELECT min(a.seq) FROM audit a) + ?");
    remove << static_cast<uint64_t>(limit);
    COT_TRY(remove.run());
    gone = static_cast<uint64_t>(database_.changes());
    return {};
  });
  if (!done) return done.error();
  return gone;
}

Result<std::vector<AuditSegment>> SqlAdminStore::drop_audit_segments(WallTime sealed_before) {
  const std::lock_guard lock(mutex_);
  std::vector<AuditSegment> dropped;
  const Status done = database_.transaction(os::crash::drop_audit_segments, [&]() -> Status {
    dropped.clear();
    COT_ASSIGN(const std::vector<AuditSegment> segments, read_segments());
    for (const AuditSegment& segment : segments) {
      if (!segment.blob || segment.sealed >= sealed_before) continue;
      Statement update = database_.prepare("UPDATE audit_segment SET blob = NULL, bytes = 0 WHERE seq = ?");
      update << segment.head.seq;
      COT_TRY(update.run());
      dropped.push_back(segment);
    }
    return {};
  });
  if (!done) return done.error();
  return dropped;
}

}  // namespace coterie
