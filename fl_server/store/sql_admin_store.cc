#include "fl_server/store/sql_admin_store.h"

#include "fl_server/store/schema.h"
#include "fl_server/store/sql_tenant_lock.h"

namespace coterie {
namespace {

#define COT_ADMIN_TOKEN_COLUMNS "id, label, roles, hash, creator, created, expires, tenant"

AdminTokenRecord token_from(const Statement& row) {
  return {.id = row.text(0),
          .label = row.text(1),
          .roles = RoleSet::from_bits(row.u64(2)),
          .hash = row.text(3),
          .creator = row.text(4),
          .created = row.time(5),
          .expires = row.time(6),
          .tenant = row.text(7)};
}

}  // namespace

Result<std::unique_ptr<SqlAdminStore>> SqlAdminStore::open(Result<Database> opened) {
  COT_ASSIGN(Database database, std::move(opened));
  COT_TRY(prepare_schema(database));
  return std::unique_ptr<SqlAdminStore>(new SqlAdminStore(std::move(database)));
}

Status SqlAdminStore::create_admin_token(const AdminTokenRecord& token, const AdminTokenRoom& room) {
  const std::lock_guard lock(mutex_);
  return database_.transaction(os::crash::create_admin_token, [&]() -> Status {
    const bool is_of_tenant = token.tenant != kEveryTenant;
    // All of them are counted: whoever makes one waits for whoever else does.
    COT_TRY(lock_tenant(database_, kEveryTenant));
    Statement all = database_.prepare("SELECT count(*) FROM admin_token");
    COT_ASSIGN(const bool counted, all.step());
    if (counted && all.u64(0) >= room.in_all) {
      return Error(ErrorCode::conflict, "there are " + std::to_string(all.u64(0)) +
                                            " admin tokens, the most there may be; remove some that are not used");
    }
    if (is_of_tenant) {
      COT_ASSIGN(const uint64_t own, count_of("SELECT count(*) FROM admin_token WHERE tenant = ?", token.tenant));
      if (own >= room.of_tenant) return over_quota(Quota::admin_tokens, token.tenant, room.of_tenant, own + 1);
    }
    Statement insert =
        database_.prepare("INSERT INTO admin_token(" COT_ADMIN_TOKEN_COLUMNS ") VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
    insert << token.id << token.label << token.roles.bits() << token.hash << token.creator << token.created
           << token.expires << token.tenant;
    return insert.run();
  });
}

Result<AdminTokenRecord> SqlAdminStore::get_admin_token(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Statement row = database_.prepare("SELECT " COT_ADMIN_TOKEN_COLUMNS " FROM admin_token WHERE id = ?");
  row << id;
  COT_ASSIGN(const bool found, row.step());
  if (!found) return Error(ErrorCode::not_found, "no such admin token");
  return token_from(row);
}

Result<std::vector<AdminTokenRecord>> SqlAdminStore::list_admin_tokens() {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare("SELECT " COT_ADMIN_TOKEN_COLUMNS " FROM admin_token ORDER BY created, id");
  std::vector<AdminTokenRecord> tokens;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return tokens;
    tokens.push_back(token_from(rows));
  }
}

Status SqlAdminStore::remove_admin_token(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Statement remove = database_.prepare("DELETE FROM admin_token WHERE id = ?");
  remove << id;
  COT_TRY(os::crash_around(os::crash::remove_admin_token, [&] { return remove.run(); }));
  if (database_.changes() == 0) return Error(ErrorCode::not_found, "no such admin token");
  return {};
}

}  // namespace coterie
