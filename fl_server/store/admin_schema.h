// The admin plane's tables in the server's database: a schema of their own beside that of schema.h, with a
// version of its own (table component), so that either can grow without the other.
//
// 1  admin tokens
// 2  the audit log
// 3  idempotency keys
#pragma once

#include "fl_server/store/database.h"

namespace coterie {

inline constexpr int kAdminSchemaVersion = 3;

// Creates what is missing (one transaction), or refuses a newer schema (unsupported_version).
Status prepare_admin_schema(Database& database);

}  // namespace coterie
