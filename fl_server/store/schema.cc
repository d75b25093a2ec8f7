#include "fl_server/store/schema.h"

namespace coterie {

Error newer_schema(int64_t version) {
  return Error(ErrorCode::unsupported_version, "database: schema version " + std::to_string(version) +
                                                   ", this server speaks " + std::to_string(kSchemaVersion) +
                                                   "; run the server that wrote it");
}

Result<int64_t> schema_version(Database& database) {
  return database.engine() == SqlEngine::sqlite ? sqlite_schema_version(database) : postgres_schema_version(database);
}

Status prepare_schema(Database& database) {
  return database.engine() == SqlEngine::sqlite ? prepare_sqlite_schema(database) : prepare_postgres_schema(database);
}

}  // namespace coterie
