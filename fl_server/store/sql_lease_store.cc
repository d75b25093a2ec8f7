#include "fl_server/store/sql_lease_store.h"

#include "fl_server/store/schema.h"
#include "fl_server/store/sql/sql_now.h"

namespace coterie {
namespace {

// One statement, so that of two who ask one comes first. A holder's own lease, over or not, goes on under its epoch as
// long as nobody else has taken it.
#define COT_TAKE_LEASE(NOW)                                                                       \
  "INSERT INTO lease(name, holder, epoch, expires) VALUES(?1, ?2, 1, " NOW                        \
  " + ?3) "                                                                                       \
  "ON CONFLICT(name) DO UPDATE SET holder = ?2, "                                                 \
  "epoch = CASE WHEN lease.holder = ?2 THEN lease.epoch ELSE lease.epoch + 1 END, expires = " NOW \
  " + ?3 "                                                                                        \
  "WHERE lease.holder = ?2 OR lease.expires <= " NOW " RETURNING epoch"
#define COT_SHOW_LEASE(NOW) "SELECT holder, epoch, expires - " NOW " FROM lease WHERE name = ?"
#define COT_GIVE_LEASE(NOW) "UPDATE lease SET expires = " NOW " WHERE name = ? AND holder = ? AND expires > " NOW

}  // namespace

Result<std::unique_ptr<SqlLeaseStore>> SqlLeaseStore::open(Result<Database> opened) {
  COT_ASSIGN(Database database, std::move(opened));
  COT_TRY(prepare_schema(database));
  return std::unique_ptr<SqlLeaseStore>(new SqlLeaseStore(std::move(database)));
}

Result<LeaseAnswer> SqlLeaseStore::take_lease(const std::string& name, const std::string& holder, Millis ttl) {
  const std::lock_guard lock(mutex_);
  const bool is_sqlite = database_.engine() == SqlEngine::sqlite;
  {
    Statement take = database_.prepare(is_sqlite ? COT_TAKE_LEASE(COT_SQLITE_NOW) : COT_TAKE_LEASE(COT_POSTGRES_NOW));
    take << name << holder << static_cast<int64_t>(ttl.count());
    os::crash_point(os::crash::take_lease.before);
    COT_ASSIGN(const bool is_taken, take.step());
    if (is_taken) {
      const LeaseEpoch epoch(take.u64(0));
      COT_ASSIGN(const bool more, take.step());  // to its end: SQLite commits then
      COT_ASSERT(!more);
      os::crash_point(os::crash::take_lease.after);
      return LeaseAnswer{true, epoch, holder, ttl};
    }
  }
  Statement show = database_.prepare(is_sqlite ? COT_SHOW_LEASE(COT_SQLITE_NOW) : COT_SHOW_LEASE(COT_POSTGRES_NOW));
  show << name;
  COT_ASSIGN(const bool found, show.step());
  if (!found) return Error(ErrorCode::unavailable, "lease " + name + ": it was taken and is gone");
  return LeaseAnswer{false, LeaseEpoch(show.u64(1)), show.text(0), std::max(Millis(0), Millis(show.integer(2)))};
}

Status SqlLeaseStore::give_lease(const std::string& name, const std::string& holder) {
  const std::lock_guard lock(mutex_);
  const bool is_sqlite = database_.engine() == SqlEngine::sqlite;
  Statement give = database_.prepare(is_sqlite ? COT_GIVE_LEASE(COT_SQLITE_NOW) : COT_GIVE_LEASE(COT_POSTGRES_NOW));
  give << name << holder;
  return os::crash_around(os::crash::give_lease, [&] { return give.run(); });
}

}  // namespace coterie
