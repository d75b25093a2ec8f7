#include "fl_server/store/sql_tenant_lock.h"

namespace coterie {

Status lock_tenant(Database& database, std::string_view tenant) {
  Statement insert = database.prepare("INSERT INTO tenant(name) VALUES(?) ON CONFLICT(name) DO NOTHING");
  insert << tenant;
  COT_TRY(insert.run());
  Statement row = database.prepare("SELECT 1 FROM tenant WHERE name = ? /*! FOR UPDATE */");
  row << tenant;
  return row.lock_rows();
}

}  // namespace coterie
