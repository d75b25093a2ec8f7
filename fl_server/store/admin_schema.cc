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
    COT_TRY(database.execute(kVersion1));
    Statement note = database.prepare("INSERT OR REPLACE INTO component(name, version) VALUES('admin', ?)");
    note << static_cast<int64_t>(kAdminSchemaVersion);
    return note.run();
  });
}

}  // namespace coterie
