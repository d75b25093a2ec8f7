// Database: one SQLite connection as far as we need it: cached prepared statements, typed binding, typed errors.
//
// WAL and synchronous=FULL: a transaction that committed survives a power cut. secure_delete: what is deleted is
// overwritten with zeros (in the log when that is overwritten). Not thread-safe; its owner locks.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"

namespace coterie {

// A prepared statement in use. Bind in order with <<, then step through rows and read columns by index.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  // One that could not be prepared: every step fails so.
  explicit Statement(Error failure) : statement_(nullptr), failure_(std::move(failure)) {}
  Statement(Statement&& other) noexcept
      : statement_(std::exchange(other.statement_, nullptr)), failure_(std::move(other.failure_)), bound_(other.bound_) {}
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Statement& operator<<(std::string_view text);
  Statement& operator<<(ByteView blob);
  Statement& operator<<(uint64_t value);
  Statement& operator<<(uint32_t value) { return *this << static_cast<uint64_t>(value); }
  Statement& operator<<(int64_t value);
  Statement& operator<<(double value);
  Statement& operator<<(const Digest& digest) { return *this << digest.view(); }
  Statement& operator<<(const DeviceId& device) { return *this << ByteView(device.bytes); }
  Statement& operator<<(WallTime time) { return *this << static_cast<int64_t>(unix_ms(time)); }
  template <typename T>
  Statement& operator<<(const std::optional<T>& value) {
    return value ? *this << *value : null();
  }
  Statement& null();

  // True while there is a row.
  Result<bool> step();
  // For statements without rows.
  Status run();

  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::string text(int column) const;
  ByteView blob(int column) const;
  int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  uint64_t u64(int column) const { return static_cast<uint64_t>(integer(column)); }
  uint32_t u32(int column) const { return static_cast<uint32_t>(integer(column)); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  WallTime time(int column) const { return wall_time_from_unix_ms(integer(column)); }
  // Fixed-size blobs; data_loss is impossible as the schema checks their length.
  Digest digest(int column) const;
  DeviceId device(int column) const;

 private:
  sqlite3_stmt* statement_;
  std::optional<Error> failure_;
  int bound_ = 0;
};

class Database {
 public:
  // Opens or creates `path`.
  static Result<Database> open(const std::string& path);
  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) noexcept = default;

  // The prepared statement for `sql` (a literal: its address is the cache key), reset and unbound. In a damaged file it may
  // not be possible to prepare it: then its first step says so.
  Statement prepare(const char* sql);
  Status execute(const char* sql);
  int changes() const { return sqlite3_changes(handle_.get()); }

  // Runs `body` (returning Status) between BEGIN IMMEDIATE and COMMIT; rolls back if it fails.
  template <typename Body>
  Status transaction(Body body) {
    COT_TRY(execute("BEGIN IMMEDIATE"));
    Status done = body();
    if (done) done = execute("COMMIT");
    if (!done) rollback();
    return done;
  }

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  explicit Database(sqlite3* handle) : handle_(handle) {}
  void rollback();

  std::unique_ptr<sqlite3, Close> handle_;
  std::unordered_map<const char*, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;
};

}  // namespace coterie
