// PostgreSQL behind Database: READ COMMITTED, unique keys and row locks, nothing else is relied on. Servers from 13 on.
//
// A connection that is lost is made anew by the next call outside a transaction; what was under way then is
// `unavailable`: done or not. No call takes longer than statement_max and a reconnection.
#pragma once

#include <string>

#include "base/time.h"
#include "fl_server/store/sql/database.h"

namespace coterie {

struct PostgresSettings {
  std::string conninfo;  // of libpq: "host=... dbname=... user=... password=..." or a URI; a secret
  std::string schema =
      "coterie";  // where the tables are, made if it is not there: fleets of their own may share a database
  Millis connect_max{5'000};
  Millis statement_max{30'000};  // until an answer: then the connection is given up
  Millis lock_max{10'000};       // waiting for a row that another server has locked
};

// Connects. Errors never show the connection string.
Result<Database> open_postgres(const PostgresSettings& settings);

// Our SQL in PostgreSQL's words: "?" and "?3" are "$1" and "$3", and comments /*! ... */ are opened. Exposed for tests.
std::string postgres_text(std::string_view sql);

}  // namespace coterie
