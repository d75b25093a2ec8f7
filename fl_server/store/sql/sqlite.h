// SQLite behind Database: the default of a single server.
//
// WAL and synchronous=FULL: a transaction that committed survives a power cut. secure_delete: what is deleted is
// overwritten with zeros (in the log when that is overwritten).
#pragma once

#include <string>

#include "fl_server/store/sql/database.h"

namespace coterie {

// Opens or creates `path`.
Result<Database> open_sqlite(const std::string& path);

}  // namespace coterie
