// AdminStore on a database (store/sql/database.h). Its own connection.
#pragma once

#include <memory>
#include <mutex>

#include "fl_server/store/admin_store.h"
#include "fl_server/store/sql/database.h"

namespace coterie {

class SqlAdminStore : public AdminStore {
 public:
  // The same database as the round store's. Prepares the schema.
  static Result<std::unique_ptr<SqlAdminStore>> open(Result<Database> database);

  Status create_admin_token(const AdminTokenRecord& token) override;
  Result<AdminTokenRecord> get_admin_token(const std::string& id) override;
  Result<std::vector<AdminTokenRecord>> list_admin_tokens() override;
  Status remove_admin_token(const std::string& id) override;

 private:
  explicit SqlAdminStore(Database database) : database_(std::move(database)) {}

  std::mutex mutex_;
  Database database_;
};

}  // namespace coterie
