// Database: one connection to a database engine, as far as we need it: cached prepared statements, typed binding, typed
// errors. The SQL is written once, in what SQLite and PostgreSQL have in common; what only PostgreSQL needs stands in a
// comment that its driver opens, /*! FOR UPDATE */ (docs/adr/0021).
//
// Errors: storage_full, conflict (a unique key) and invalid_argument leave nothing behind; data_loss is a damaged file
// or a missing table; after unavailable and timed_out a write may or may not have happened. Not thread-safe; its owner
// locks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/os/crash_point.h"
#include "fl_server/store/sql/statement.h"

namespace coterie {

enum class SqlEngine : uint8_t { sqlite, postgres };

// How a transaction ends whose body did not fail.
enum class TransactionEnd : uint8_t { commit, roll_back };

// What an engine does for Database.
class SqlDriver {
 public:
  virtual ~SqlDriver() = default;
  virtual SqlEngine engine() const = 0;
  virtual Result<SqlStatement*> prepare(const char* sql) = 0;
  virtual Status execute(const char* sql) = 0;
  virtual int changes() const = 0;
  virtual Status begin() = 0;
  virtual Status commit() = 0;
  virtual void rollback() = 0;
  // Whether the last error was a race with another connection that the same transaction, begun again, may win.
  virtual bool was_race() const = 0;
  virtual Status execute_many(SqlStatement& statement, size_t count, const std::function<void(size_t)>& bind,
                              std::vector<int>& changes) = 0;
};

class Database {
 public:
  explicit Database(std::unique_ptr<SqlDriver> driver) : driver_(std::move(driver)) {}

  SqlEngine engine() const { return driver_->engine(); }
  // The prepared statement for `sql` (a literal: its address is the cache key), reset and unbound. In a damaged file it
  // may not be possible to prepare it: then its first step says so.
  Statement prepare(const char* sql);
  // Statements without parameters and rows.
  Status execute(const char* sql) { return driver_->execute(sql); }
  // Rows that the last statement changed.
  int changes() const { return driver_->changes(); }
  // Runs the statement, which has no rows, `count` times, bound by bind(statement, i): on PostgreSQL without waiting
  // for each. Returns the rows that each of them changed.
  Result<std::vector<int>> execute_many(const char* sql, size_t count,
                                        const std::function<void(Statement&, size_t)>& bind);

  // Runs `body` between BEGIN and COMMIT; rolls back if it fails. It returns Status, or Result<TransactionEnd> if it
  // may decide that nothing is to be written, which is no error. A body that lost a race is run again, kRacesMax times
  // in all: it must not count on what it did before.
  template <typename Body>
  Status transaction(Body body) {
    return transaction(nullptr, std::move(body));
  }
  // The same of one that a test has the process killed in.
  template <typename Body>
  Status transaction(const os::TransactionPoints& points, Body body) {
    return transaction(&points, std::move(body));
  }

 private:
  static Result<TransactionEnd> end_of(Result<TransactionEnd> end) { return end; }
  static Result<TransactionEnd> end_of(Status done) {
    return done ? Result<TransactionEnd>(TransactionEnd::commit) : Result<TransactionEnd>(done.error());
  }

  template <typename Body>
  Status transaction(const os::TransactionPoints* points, Body body) {
    const auto pass = [points](os::CrashPoint os::TransactionPoints::*point) {
      if (points != nullptr) os::crash_point(points->*point);
    };
    for (int race = 1;; ++race) {
      COT_TRY(driver_->begin());
      pass(&os::TransactionPoints::begun);
      const Result<TransactionEnd> end = end_of(body());
      if (end && *end == TransactionEnd::roll_back) {
        driver_->rollback();
        return {};
      }
      Status done = end ? Status() : Status(end.error());
      if (done) {
        pass(&os::TransactionPoints::before_commit);
        done = driver_->commit();
      }
      if (done) {
        pass(&os::TransactionPoints::after_commit);
        return done;
      }
      const bool may_win = driver_->was_race() && race < kRacesMax;
      driver_->rollback();
      if (!may_win) return done;
    }
  }

  static constexpr int kRacesMax = 10;
  std::unique_ptr<SqlDriver> driver_;
};

}  // namespace coterie
