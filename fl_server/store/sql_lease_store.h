// LeaseStore on a database. Its own connection: a lease is renewed though a round's commit takes long.
#pragma once

#include <memory>
#include <mutex>

#include "fl_server/store/lease_store.h"
#include "fl_server/store/sql/database.h"

namespace coterie {

class SqlLeaseStore : public LeaseStore {
 public:
  // The same database as the round store's. Prepares the schema.
  static Result<std::unique_ptr<SqlLeaseStore>> open(Result<Database> database);

  Result<LeaseAnswer> take_lease(const std::string& name, const std::string& holder, Millis ttl) override;
  Status give_lease(const std::string& name, const std::string& holder) override;

 private:
  explicit SqlLeaseStore(Database database) : database_(std::move(database)) {}

  std::mutex mutex_;
  Database database_;
};

}  // namespace coterie
