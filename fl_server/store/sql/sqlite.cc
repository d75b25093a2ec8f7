#include "fl_server/store/sql/sqlite.h"

#include <sqlite3.h>

#include <unordered_map>

namespace coterie {
namespace {

constexpr int kBusyMsMax = 10'000;

// Full disk and constraint errors leave nothing behind; about anything else we do not know.
Error database_error(sqlite3* handle) {
  const int code = sqlite3_extended_errcode(handle);
  ErrorCode kind = ErrorCode::unavailable;
  if ((code & 0xff) == SQLITE_FULL) kind = ErrorCode::storage_full;
  if ((code & 0xff) == SQLITE_CONSTRAINT) kind = ErrorCode::conflict;
  if ((code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB) kind = ErrorCode::data_loss;
  return Error(kind, std::string("database: ") + sqlite3_errmsg(handle));
}

class SqliteStatement final : public SqlStatement {
 public:
  explicit SqliteStatement(sqlite3_stmt* statement) : statement_(statement) {}
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;
  ~SqliteStatement() override { sqlite3_finalize(statement_); }

  void bind_text(int parameter, std::string_view text) override {
    const char* const data = text.empty() ? "" : text.data();  // a null pointer would be NULL
    sqlite3_bind_text64(statement_, parameter, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  void bind_blob(int parameter, ByteView blob) override {
    const void* const data = blob.empty() ? static_cast<const void*>("") : blob.data();  // likewise
    sqlite3_bind_blob64(statement_, parameter, data, blob.size(), SQLITE_TRANSIENT);
  }
  void bind_integer(int parameter, int64_t value) override { sqlite3_bind_int64(statement_, parameter, value); }
  void bind_real(int parameter, double value) override { sqlite3_bind_double(statement_, parameter, value); }
  void bind_null(int parameter) override { sqlite3_bind_null(statement_, parameter); }

  Result<bool> step() override {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return database_error(sqlite3_db_handle(statement_));
  }

  bool is_null(int column) const override { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::string_view text(int column) const override {
    const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return data == nullptr ? std::string_view() : std::string_view(data, size(column));
  }
  ByteView blob(int column) const override {
    const auto* data = static_cast<const uint8_t*>(sqlite3_column_blob(statement_, column));
    return {data, size(column)};
  }
  int64_t integer(int column) const override { return sqlite3_column_int64(statement_, column); }
  double real(int column) const override { return sqlite3_column_double(statement_, column); }
  void reset() override {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }

 private:
  size_t size(int column) const { return static_cast<size_t>(sqlite3_column_bytes(statement_, column)); }

  sqlite3_stmt* statement_;
};

class SqliteDriver final : public SqlDriver {
 public:
  explicit SqliteDriver(sqlite3* handle) : handle_(handle) {}

  SqlEngine engine() const override { return SqlEngine::sqlite; }

  Result<SqlStatement*> prepare(const char* sql) override {
    auto& cached = statements_[sql];
    if (!cached) {
      sqlite3_stmt* statement = nullptr;
      const int code = sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
      if (code == SQLITE_ERROR) {  // our own SQL, so it must be the tables
        return Error(ErrorCode::data_loss, std::string("database: ") + sqlite3_errmsg(handle_.get()));
      }
      if (code != SQLITE_OK) return database_error(handle_.get());
      cached = std::make_unique<SqliteStatement>(statement);
    }
    return cached.get();
  }

  Status execute(const char* sql) override {
    if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return database_error(handle_.get());
    return {};
  }

  int changes() const override { return sqlite3_changes(handle_.get()); }
  // Takes the writer's lock at once: writers of other connections wait, and no race is ever lost.
  Status begin() override { return execute("BEGIN IMMEDIATE"); }
  Status commit() override { return execute("COMMIT"); }
  void rollback() override {
    // After some errors SQLite has rolled back by itself; then there is nothing to undo.
    if (sqlite3_get_autocommit(handle_.get()) == 0) sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  bool was_race() const override { return false; }

  Status execute_many(SqlStatement& statement, size_t count, const std::function<void(size_t)>& bind,
                      std::vector<int>& changes) override {
    for (size_t i = 0; i < count; ++i) {
      bind(i);
      COT_ASSIGN(const bool row, statement.step());
      COT_ASSERT(!row);
      changes.push_back(this->changes());
      statement.reset();
    }
    return {};
  }

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  std::unique_ptr<sqlite3, Close> handle_;
  std::unordered_map<const char*, std::unique_ptr<SqliteStatement>> statements_;
};

}  // namespace

Result<Database> open_sqlite(const std::string& path) {
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  auto driver = std::make_unique<SqliteDriver>(handle);
  if (code != SQLITE_OK) {
    const std::string why = handle == nullptr ? "out of memory" : sqlite3_errmsg(handle);
    return Error(ErrorCode::unavailable, "cannot open database " + path + ": " + why);
  }
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyMsMax);
  Database database(std::move(driver));
  COT_TRY(database.execute("PRAGMA journal_mode=WAL"));
  COT_TRY(database.execute("PRAGMA synchronous=FULL"));
  COT_TRY(database.execute("PRAGMA foreign_keys=ON"));
  COT_TRY(database.execute("PRAGMA secure_delete=ON"));
  return database;
}

}  // namespace coterie
