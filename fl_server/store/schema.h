// The tables, and their version. A newer schema than ours is refused; an older one will be migrated (expand, contract).
#pragma once

#include "fl_server/store/database.h"

namespace coterie {

inline constexpr int kSchemaVersion = 1;

// Creates the tables in an empty database, or checks the version of an existing one (unsupported_version).
Status prepare_schema(Database& database);

}  // namespace coterie
