// What the conformance suites of the stores run on. A backend's databases outlive its stores; another() is a second
// connection to the same database, as another server's.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "fl_server/store/sql/postgres.h"
#include "fl_server/store/sql/sqlite.h"
#include "fl_server/store/sql_training_store.h"
#include "tests/support/matchers.h"
#include "tests/support/memory_training_store.h"
#include "tests/support/postgres_server.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {

class SqliteDatabase {
 public:
  static constexpr const char* kName = "Sqlite";
  static constexpr uint64_t kSeedsOfOneByDay = 1;
  static bool is_available() { return true; }
  Result<Database> open() const { return open_sqlite(directory_ / "db"); }

 private:
  TemporaryDirectory directory_{memory_disk()};
};

class PostgresDatabase {
 public:
  static constexpr const char* kName = "Postgres";
  static constexpr uint64_t kSeedsOfOneByDay = 3;  // each call takes ten times as long
  static bool is_available() { return PostgresServer::is_installed(); }
  Result<Database> open() {
    COT_ASSIGN(PostgresServer* const server, PostgresServer::shared());
    if (schema_.empty()) schema_ = server->fresh_schema();
    return open_postgres({.conninfo = server->conninfo(), .schema = schema_});
  }

 private:
  std::string schema_;
};

// A store (SqlTrainingStore, ...) on one of those.
template <typename Store, typename OnDatabase>
class SqlBackend {
 public:
  static constexpr const char* kName = OnDatabase::kName;
  static constexpr uint64_t kSeedsOfOneByDay = OnDatabase::kSeedsOfOneByDay;
  static bool is_available() { return OnDatabase::is_available(); }
  SqlBackend() {
    if (is_available()) reopen();
  }
  Store& store() { return *store_; }
  // As after a crash: whatever was answered must be there.
  void reopen() {
    store_.reset();
    store_ = another();
  }
  std::unique_ptr<Store> another() {
    auto opened = Store::open(database_.open());
    EXPECT_OK(opened);
    return opened ? std::move(*opened) : nullptr;
  }
  Result<Database> open_database() { return database_.open(); }

 private:
  OnDatabase database_;
  std::unique_ptr<Store> store_;
};

using SqliteBackend = SqlBackend<SqlTrainingStore, SqliteDatabase>;
using PostgresBackend = SqlBackend<SqlTrainingStore, PostgresDatabase>;

// A store in memory: it outlives a restart, and another server's connection is the same object.
template <typename Store>
class MemoryStoreBackend {
 public:
  static constexpr const char* kName = "Memory";
  static bool is_available() { return true; }
  Store& store() { return store_; }
  void reopen() {}
  Store* another() { return &store_; }

 private:
  Store store_;
};

class MemoryBackend {
 public:
  static constexpr const char* kName = "Memory";
  static bool is_available() { return true; }
  MemoryTrainingStore& store() { return store_; }
  void reopen() {}

 private:
  MemoryTrainingStore store_;
};

// How many of the seeds of a random test a backend is tried with by day: one of so many as it says. At night it has all
// (COTERIE_ALL_SEEDS).
template <typename Backend>
uint64_t seeds_on(uint64_t seeds) {
  const uint64_t of = std::getenv("COTERIE_ALL_SEEDS") == nullptr ? Backend::kSeedsOfOneByDay : 1;
  return (seeds + of - 1) / of;
}

struct BackendNames {
  template <typename Backend>
  static std::string GetName(int) {
    return Backend::kName;
  }
};

// Suites are skipped where their database is not installed.
#define SKIP_UNLESS_AVAILABLE(Backend) \
  if (!Backend::is_available()) GTEST_SKIP() << Backend::kName << " is not installed: apt-get install postgresql"

}  // namespace coterie::test
