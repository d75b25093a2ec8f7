#include "fl_server/store/sql_fleet_store.h"

#include "fl_server/store/schema.h"
#include "fl_server/store/sql/sql_now.h"

namespace coterie {
namespace {

#define COT_SAY(NOW)                                                                         \
  "INSERT INTO fleet_node(node, incarnation, started, seen, report) VALUES(?1, ?2, ?3, " NOW \
  ", ?4) "                                                                                   \
  "ON CONFLICT(node) DO UPDATE SET incarnation = ?2, started = ?3, seen = " NOW              \
  ", report = ?4 "                                                                           \
  "WHERE fleet_node.incarnation = ?2 OR fleet_node.incarnation = ?6 OR fleet_node.seen <= " NOW " - ?5"
#define COT_NODES(NOW) "SELECT node, incarnation, started, report, " NOW " - seen FROM fleet_node ORDER BY node"
#define COT_FORGET_NODES(NOW) "DELETE FROM fleet_node WHERE seen <= " NOW " - ?"
#define COT_LEASE_HOLDER(NOW) "SELECT holder FROM lease WHERE name = ? AND expires > " NOW

}  // namespace

Result<std::unique_ptr<SqlFleetStore>> SqlFleetStore::open(Result<Database> opened) {
  COT_ASSIGN(Database database, std::move(opened));
  COT_TRY(prepare_schema(database));
  return std::unique_ptr<SqlFleetStore>(new SqlFleetStore(std::move(database)));
}

Status SqlFleetStore::say(const FleetNodeRow& row, const std::string& former, Millis silence_max) {
  const std::lock_guard lock(mutex_);
  Statement say = database_.prepare(is_sqlite() ? COT_SAY(COT_SQLITE_NOW) : COT_SAY(COT_POSTGRES_NOW));
  say << row.node << row.incarnation << row.started << row.report << static_cast<int64_t>(silence_max.count())
      << former;
  COT_TRY(os::crash_around(os::crash::say, [&] { return say.run(); }));
  if (database_.changes() > 0) return {};
  return Error(ErrorCode::conflict,
               "fleet: another server calls itself " + row.node + "; give each its own name (node)");
}

Status SqlFleetStore::leave(const std::string& node, const std::string& incarnation) {
  const std::lock_guard lock(mutex_);
  Statement leave = database_.prepare("DELETE FROM fleet_node WHERE node = ? AND incarnation = ?");
  leave << node << incarnation;
  return os::crash_around(os::crash::leave, [&] { return leave.run(); });
}

Result<std::vector<FleetNodeRow>> SqlFleetStore::nodes() {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare(is_sqlite() ? COT_NODES(COT_SQLITE_NOW) : COT_NODES(COT_POSTGRES_NOW));
  std::vector<FleetNodeRow> nodes;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return nodes;
    nodes.push_back({.node = rows.text(0),
                     .incarnation = rows.text(1),
                     .started = wall_time_from_unix_ms(rows.integer(2)),
                     .report = rows.text(3),
                     .age = std::max(Millis(0), Millis(rows.integer(4)))});
  }
}

Status SqlFleetStore::forget_nodes(Millis age_min) {
  const std::lock_guard lock(mutex_);
  Statement forget =
      database_.prepare(is_sqlite() ? COT_FORGET_NODES(COT_SQLITE_NOW) : COT_FORGET_NODES(COT_POSTGRES_NOW));
  forget << static_cast<int64_t>(age_min.count());
  return forget.run();
}

Result<std::string> SqlFleetStore::lease_holder(const std::string& lease) {
  const std::lock_guard lock(mutex_);
  Statement holder =
      database_.prepare(is_sqlite() ? COT_LEASE_HOLDER(COT_SQLITE_NOW) : COT_LEASE_HOLDER(COT_POSTGRES_NOW));
  holder << lease;
  COT_ASSIGN(const bool found, holder.step());
  return found ? holder.text(0) : std::string();
}

Result<std::optional<FleetBoard>> SqlFleetStore::read_board(uint64_t known_revision) {
  const std::lock_guard lock(mutex_);
  Statement board = database_.prepare("SELECT revision, board FROM fleet_board WHERE revision <> ?");
  board << known_revision;
  COT_ASSIGN(const bool is_other, board.step());
  if (!is_other) return std::nullopt;
  return FleetBoard{board.u64(0), board.text(1)};
}

Result<uint64_t> SqlFleetStore::write_board(const std::string& lease, LeaseEpoch epoch, const std::string& text) {
  const std::lock_guard lock(mutex_);
  uint64_t revision = 0;
  COT_TRY(database_.transaction(os::crash::write_board, [&]() -> Status {
    Statement row = database_.prepare("SELECT epoch FROM lease WHERE name = ? /*! FOR SHARE */");
    row << lease;
    COT_ASSIGN(const bool found, row.step());
    if (!found || row.u64(0) != epoch.value()) {
      return Error(ErrorCode::conflict, "fleet: this server does not lead any more");
    }
    Statement write = database_.prepare("UPDATE fleet_board SET revision = revision + 1, board = ? RETURNING revision");
    write << text;
    COT_ASSIGN(const bool written, write.step());
    if (!written) return Error(ErrorCode::data_loss, "database: the fleet's board is gone");
    revision = write.u64(0);
    COT_ASSIGN(const bool more, write.step());  // to its end: SQLite writes then
    COT_ASSERT(!more);
    return {};
  }));
  return revision;
}

}  // namespace coterie
