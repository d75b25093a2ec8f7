#include "fl_server/store/sqlite_admin_store.h"

#include "fl_server/store/admin_schema.h"

namespace coterie {
namespace {

#define COT_ADMIN_TOKEN_COLUMNS "id, label, roles, hash, creator, created, expires"

AdminTokenRecord token_from(const Statement& row) {
  return {.id = row.text(0),
          .label = row.text(1),
          .roles = RoleSet::from_bits(row.u64(2)),
          .hash = row.text(3),
          .creator = row.text(4),
          .created = row.time(5),
          .expires = row.time(6)};
}

}  // namespace

Result<std::unique_ptr<SqliteAdminStore>> SqliteAdminStore::open(const std::string& path) {
  COT_ASSIGN(Database database, Database::open(path));
  COT_TRY(prepare_admin_schema(database));
  return std::unique_ptr<SqliteAdminStore>(new SqliteAdminStore(std::move(database)));
}

Status SqliteAdminStore::create_admin_token(const AdminTokenRecord& token) {
  const std::lock_guard lock(mutex_);
  Statement insert =
      database_.prepare("INSERT INTO admin_token(" COT_ADMIN_TOKEN_COLUMNS ") VALUES(?, ?, ?, ?, ?, ?, ?)");
  insert << token.id << token.label << token.roles.bits() << token.hash << token.creator << token.created
         << token.expires;
  return insert.run();
}

Result<AdminTokenRecord> SqliteAdminStore::get_admin_token(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Statement row = database_.prepare("SELECT " COT_ADMIN_TOKEN_COLUMNS " FROM admin_token WHERE id = ?");
  row << id;
  COT_ASSIGN(const bool found, row.step());
  if (!found) return Error(ErrorCode::not_found, "no such admin token");
  return token_from(row);
}

Result<std::vector<AdminTokenRecord>> SqliteAdminStore::list_admin_tokens() {
  const std::lock_guard lock(mutex_);
  Statement rows =
      database_.prepare("SELECT " COT_ADMIN_TOKEN_COLUMNS " FROM admin_token ORDER BY created, id");
  std::vector<AdminTokenRecord> tokens;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return tokens;
    tokens.push_back(token_from(rows));
  }
}

Status SqliteAdminStore::remove_admin_token(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Statement remove = database_.prepare("DELETE FROM admin_token WHERE id = ?");
  remove << id;
  COT_TRY(remove.run());
  if (database_.changes() == 0) return Error(ErrorCode::not_found, "no such admin token");
  return {};
}

}  // namespace coterie
