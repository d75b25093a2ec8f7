// The audit log's rows.
#include "fl_server/store/sql_admin_store.h"

namespace coterie {
namespace {

#define COT_AUDIT_COLUMNS "seq, time, who, roles, action, target, outcome, request, digest"

AuditRecord record_from(const Statement& row) {
  return {.entry = {.seq = row.u64(0),
                    .time = row.time(1),
                    .who = row.text(2),
                    .roles = row.text(3),
                    .action = row.text(4),
                    .target = row.text(5),
                    .outcome = row.u32(6),
                    .request = row.text(7)},
          .digest = row.digest(8)};
}

}  // namespace

Result<AuditHead> SqlAdminStore::read_head() {
  Statement row = database_.prepare("SELECT seq, digest FROM audit ORDER BY seq DESC LIMIT 1");
  COT_ASSIGN(const bool found, row.step());
  if (!found) return AuditHead{};
  return AuditHead{row.u64(0), row.digest(1)};
}

Result<AuditHead> SqlAdminStore::append_audit(AuditEntry entry) {
  const std::lock_guard lock(mutex_);
  AuditHead head;
  const Status done = database_.transaction(os::crash::append_audit, [&]() -> Status {
    Statement lock = database_.prepare("SELECT 1 /*! FROM audit_lock FOR UPDATE */");  // as the ledger's
    COT_TRY(lock.lock_rows());
    COT_ASSIGN(head, read_head());
    entry.seq = head.seq + 1;
    head = {entry.seq, audit_digest(head.digest, entry)};
    Statement insert = database_.prepare("INSERT INTO audit(" COT_AUDIT_COLUMNS ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insert << entry.seq << entry.time << entry.who << entry.roles << entry.action << entry.target << entry.outcome
           << entry.request << head.digest;
    return insert.run();
  });
  if (!done) return done.error();
  return head;
}

Result<AuditHead> SqlAdminStore::audit_head() {
  const std::lock_guard lock(mutex_);
  return read_head();
}

Result<std::vector<AuditRecord>> SqlAdminStore::list_audit(const AuditQuery& query) {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare("SELECT " COT_AUDIT_COLUMNS
                                     " FROM audit WHERE seq > ?1 AND (?2 = '' OR who = ?2) AND (?3 = '' OR "
                                     "action = ?3) AND time >= ?5 AND time < ?6 ORDER BY seq LIMIT ?4");
  rows << query.after << query.who << query.action << static_cast<uint64_t>(query.limit)
       << (query.since ? int64_t{unix_ms(*query.since)} : INT64_MIN)
       << (query.until ? int64_t{unix_ms(*query.until)} : INT64_MAX);
  std::vector<AuditRecord> records;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return records;
    records.push_back(record_from(rows));
  }
}

}  // namespace coterie
