#include "fl_server/store/database.h"

#include <cstring>

namespace coterie {
namespace {

// Full disk and constraint errors leave nothing behind; about anything else we do not know.
Error database_error(sqlite3* handle) {
  const int code = sqlite3_extended_errcode(handle);
  ErrorCode kind = ErrorCode::unavailable;
  if ((code & 0xff) == SQLITE_FULL) kind = ErrorCode::storage_full;
  if ((code & 0xff) == SQLITE_CONSTRAINT) kind = ErrorCode::conflict;
  if ((code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB) kind = ErrorCode::data_loss;
  return Error(kind, std::string("database: ") + sqlite3_errmsg(handle));
}

}  // namespace

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Statement& Statement::operator<<(std::string_view text) {
  sqlite3_bind_text64(statement_, ++bound_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::operator<<(ByteView blob) {
  sqlite3_bind_blob64(statement_, ++bound_, blob.data(), blob.size(), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::operator<<(uint64_t value) { return *this << static_cast<int64_t>(value); }

Statement& Statement::operator<<(int64_t value) {
  sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

Statement& Statement::operator<<(double value) {
  sqlite3_bind_double(statement_, ++bound_, value);
  return *this;
}

Statement& Statement::null() {
  sqlite3_bind_null(statement_, ++bound_);
  return *this;
}

Result<bool> Statement::step() {
  if (failure_) return *failure_;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_error(sqlite3_db_handle(statement_));
}

Status Statement::run() {
  COT_ASSIGN(const bool row, step());
  COT_ASSERT(!row);
  return {};
}

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return data == nullptr ? std::string() : std::string(data, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

ByteView Statement::blob(int column) const {
  const auto* data = static_cast<const uint8_t*>(sqlite3_column_blob(statement_, column));
  return {data, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

Digest Statement::digest(int column) const {
  Digest digest;
  const ByteView bytes = blob(column);
  COT_ASSERT(bytes.size() == digest.bytes.size());
  std::memcpy(digest.bytes.data(), bytes.data(), bytes.size());
  return digest;
}

DeviceId Statement::device(int column) const {
  DeviceId device;
  const ByteView bytes = blob(column);
  COT_ASSERT(bytes.size() == device.bytes.size());
  std::memcpy(device.bytes.data(), bytes.data(), bytes.size());
  return device;
}

Result<Database> Database::open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  Database database(handle);
  if (code != SQLITE_OK) {
    const std::string why = handle == nullptr ? "out of memory" : sqlite3_errmsg(handle);
    return Error(ErrorCode::unavailable, "cannot open database " + path + ": " + why);
  }
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, 10'000);
  COT_TRY(database.execute("PRAGMA journal_mode=WAL"));
  COT_TRY(database.execute("PRAGMA synchronous=FULL"));
  COT_TRY(database.execute("PRAGMA foreign_keys=ON"));
  COT_TRY(database.execute("PRAGMA secure_delete=ON"));
  return database;
}

Statement Database::prepare(const char* sql) {
  auto& cached = statements_[sql];
  if (!cached) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code == SQLITE_ERROR) {  // our own SQL, so it must be the tables
      return Statement(Error(ErrorCode::data_loss, std::string("database: ") + sqlite3_errmsg(handle_.get())));
    }
    if (code != SQLITE_OK) return Statement(database_error(handle_.get()));
    cached.reset(statement);
  }
  return Statement(cached.get());
}

Status Database::execute(const char* sql) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return database_error(handle_.get());
  return {};
}

void Database::rollback() {
  // After some errors SQLite has rolled back by itself; then there is nothing to undo.
  if (sqlite3_get_autocommit(handle_.get()) == 0) sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace coterie
