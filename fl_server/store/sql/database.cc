#include "fl_server/store/sql/database.h"

namespace coterie {

Statement Database::prepare(const char* sql) {
  Result<SqlStatement*> statement = driver_->prepare(sql);
  return statement ? Statement(*statement) : Statement(statement.error());
}

Result<std::vector<int>> Database::execute_many(const char* sql, size_t count,
                                                const std::function<void(Statement&, size_t)>& bind) {
  COT_ASSIGN(SqlStatement* const raw, driver_->prepare(sql));
  Statement statement(raw);
  std::vector<int> changes;
  changes.reserve(count);
  const auto bind_one = [&](size_t i) {
    statement.bound_ = 0;
    bind(statement, i);
  };
  COT_TRY(driver_->execute_many(*raw, count, bind_one, changes));
  return changes;
}

}  // namespace coterie
