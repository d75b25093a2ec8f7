// Statement: a prepared statement in use. Bind in order with <<, then step through rows and read columns by index.
//
// What a database engine makes of it is behind SqlStatement: sqlite.cc, postgres.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"

namespace coterie {

// An engine's statement. Parameters count from 1, columns from 0; what a column refers to is good until the next
// step().
class SqlStatement {
 public:
  virtual ~SqlStatement() = default;
  virtual void bind_text(int parameter, std::string_view text) = 0;
  virtual void bind_blob(int parameter, ByteView blob) = 0;
  virtual void bind_integer(int parameter, int64_t value) = 0;
  virtual void bind_real(int parameter, double value) = 0;
  virtual void bind_null(int parameter) = 0;
  virtual Result<bool> step() = 0;  // true while there is a row
  virtual bool is_null(int column) const = 0;
  virtual std::string_view text(int column) const = 0;
  virtual ByteView blob(int column) const = 0;
  virtual int64_t integer(int column) const = 0;
  virtual double real(int column) const = 0;
  virtual void reset() = 0;  // forgets rows and parameters
};

class Statement {
 public:
  explicit Statement(SqlStatement* statement) : statement_(statement) {}
  // One that could not be prepared: every step fails so.
  explicit Statement(Error failure) : statement_(nullptr), failure_(std::move(failure)) {}
  Statement(Statement&& other) noexcept
      : statement_(std::exchange(other.statement_, nullptr)),
        failure_(std::move(other.failure_)),
        bound_(other.bound_) {}
  Statement& operator=(Statement&&) = delete;
  ~Statement() {
    if (statement_ != nullptr) statement_->reset();
  }

  Statement& operator<<(std::string_view text);
  Statement& operator<<(ByteView blob);
  Statement& operator<<(uint64_t value) { return *this << static_cast<int64_t>(value); }
  Statement& operator<<(uint32_t value) { return *this << static_cast<int64_t>(value); }
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
  // For those that lock rows: whether there are any does not matter.
  Status lock_rows();

  bool is_null(int column) const { return statement_->is_null(column); }
  std::string text(int column) const { return std::string(statement_->text(column)); }
  ByteView blob(int column) const { return statement_->blob(column); }
  int64_t integer(int column) const { return statement_->integer(column); }
  uint64_t u64(int column) const { return static_cast<uint64_t>(integer(column)); }
  uint32_t u32(int column) const { return static_cast<uint32_t>(integer(column)); }
  double real(int column) const { return statement_->real(column); }
  WallTime time(int column) const { return wall_time_from_unix_ms(integer(column)); }
  // Fixed-size blobs; data_loss is impossible as the schema checks their length.
  Digest digest(int column) const;
  DeviceId device(int column) const;

 private:
  friend class Database;
  SqlStatement* statement_;
  std::optional<Error> failure_;
  int bound_ = 0;
};

}  // namespace coterie
