#include "fl_server/store/admin_schema.h"

namespace coterie {
namespace {

constexpr const char* kComponents =
    "CREATE TABLE IF NOT EXISTS component(name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT, WITHOUT "
    "ROWID";

constexpr const char* kVersion1 = R"sql(
CREATE TABLE admin_token(
  id TEXT PRIMARY KEY, label TEXT NOT NULL, roles INTEGER NOT NULL, hash TEXT NOT NULL, creator TEXT NOT NULL,
  created INTEGER NOT NULL, expires INTEGER NOT NULL) STRICT, WITHOUT ROWID;
)sql";

// The triggers are against mistakes of ours; who has the file can drop them. The chain of digests is what he
// cannot mend.
constexpr const char* kVersion2 = R"sql(
CREATE TABLE audit(
  seq INTEGER PRIMARY KEY, time INTEGER NOT NULL, who TEXT NOT NULL, roles TEXT NOT NULL, action TEXT NOT NULL,
  target TEXT NOT NULL, outcome INTEGER NOT NULL, request TEXT NOT NULL,
  digest BLOB NOT NULL CHECK(length(digest) = 32)) STRICT;
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'audit: records stay as they are'); END;
CREATE TRIGGER audit_is_never_cut BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit: records stay'); END;
)sql";

constexpr const char* kVersion3 = R"sql(
CREATE TABLE idempotency(
  name BLOB PRIMARY KEY CHECK(length(name) = 32), body BLOB NOT NULL CHECK(length(body) = 32), status INTEGER NOT NULL,
  location TEXT NOT NULL, answer BLOB, expires INTEGER NOT NULL) STRICT, WITHOUT ROWID;
)sql";

}  // namespace

Status prepare_admin_schema(Database& database) {
  return database.transaction([&]() -> Status {
    COT_TRY(database.execute(kComponents));
    int64_t version = 0;
    {
      Statement statement = database.prepare("SELECT version FROM component WHERE name = 'admin'");
      COT_ASSIGN(const bool row, statement.step());
      if (row) version = statement.integer(0);
    }
    if (version == kAdminSchemaVersion) return {};
    if (version < 0 || version > kAdminSchemaVersion) {
      return Error(ErrorCode::unsupported_version, "database: the admin plane's tables have version " +
                                                       std::to_string(version) + ", this server speaks " +
                                                       std::to_string(kAdminSchemaVersion) +
                                                       "; run the server that wrote it");
    }
    if (version < 1) COT_TRY(database.execute(kVersion1));
    if (version < 2) COT_TRY(database.execute(kVersion2));
    COT_TRY(database.execute(kVersion3));
    Statement note = database.prepare("INSERT OR REPLACE INTO component(name, version) VALUES('admin', ?)");
    note << static_cast<int64_t>(kAdminSchemaVersion);
    return note.run();
  });
}

}  // namespace coterie
