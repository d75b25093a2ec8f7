#include "fl_server/store/sql/statement.h"

#include <cstring>

#include "base/assert.h"

namespace coterie {

Statement& Statement::operator<<(std::string_view text) {
  if (statement_ != nullptr) statement_->bind_text(++bound_, text);
  return *this;
}

Statement& Statement::operator<<(ByteView blob) {
  if (statement_ != nullptr) statement_->bind_blob(++bound_, blob);
  return *this;
}

Statement& Statement::operator<<(int64_t value) {
  if (statement_ != nullptr) statement_->bind_integer(++bound_, value);
  return *this;
}

Statement& Statement::operator<<(double value) {
  if (statement_ != nullptr) statement_->bind_real(++bound_, value);
  return *this;
}

Statement& Statement::null() {
  if (statement_ != nullptr) statement_->bind_null(++bound_);
  return *this;
}

Result<bool> Statement::step() {
  if (failure_) return *failure_;
  return statement_->step();
}

Status Statement::run() {
  COT_ASSIGN(const bool row, step());
  COT_ASSERT(!row);
  return {};
}

Status Statement::lock_rows() {
  COT_ASSIGN(bool more, step());
  while (more) {
    COT_ASSIGN(more, step());
  }
  return {};
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

}  // namespace coterie
