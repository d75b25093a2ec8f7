// The tables, and their version. A newer schema than ours is refused; an older one is migrated, table by
// table.
//
// 1  jobs, rounds, devices
// 2  the privacy ledger and the salts of noise under way
// 3  the ledger's head as an attempt of a round was opened
#pragma once

#include "fl_server/store/database.h"

namespace coterie {

inline constexpr int kSchemaVersion = 3;

// Creates the tables in an empty database, adds those that an older one lacks (one transaction), or refuses a newer one
// (unsupported_version).
Status prepare_schema(Database& database);

}  // namespace coterie
