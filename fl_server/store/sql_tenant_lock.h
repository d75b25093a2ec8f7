// The lock behind which a tenant's things are counted and one more is added: transactions that add to what one tenant
// has come one after the other. SQLite's writers are serial anyhow.
#pragma once

#include <string_view>

#include "fl_server/store/sql/database.h"

namespace coterie {

// In a transaction, until its end, and before any other lock of it. Adds the tenant's row if it is not there.
Status lock_tenant(Database& database, std::string_view tenant);

}  // namespace coterie
