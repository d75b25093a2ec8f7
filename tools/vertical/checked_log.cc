#include "tools/vertical/checked_log.h"

#include <algorithm>

#include "secure/crypto/sha256.h"

namespace coterie {
namespace {

constexpr size_t kCheckBytes = 8;

}  // namespace

Result<CheckedLog> CheckedLog::open(const std::string& file, const Terms& terms, const Take& take) {
  CheckedLog log(file, terms);
  Bytes bytes;
  const bool is_new = !os::exists(file);
  if (!is_new) {
    COT_ASSIGN(bytes, os::read_file(file, terms.file_bytes_max));
  }
  const size_t whole = log.read_entries(bytes, take);
  if (whole < bytes.size()) COT_TRY(os::write_file_atomically(file, ByteView(bytes).first(whole)));
  COT_ASSIGN(log.end_, os::File::open_append(file));
  if (is_new) COT_TRY(os::sync_directory(os::parent_directory(file)));
  return log;
}

size_t CheckedLog::read_entries(ByteView bytes, const Take& take) const {
  size_t whole = 0;
  for (;;) {
    const ByteView rest = bytes.subspan(whole);
    const std::optional<uint64_t> size = terms_.measure(rest);
    if (!size || rest.size() < kCheckBytes || *size > rest.size() - kCheckBytes) return whole;
    const ByteView entry = rest.first(*size);
    const Digest digest = sha256(entry);
    if (!std::ranges::equal(ByteView(digest.view()).first(kCheckBytes), rest.subspan(*size, kCheckBytes))) return whole;
    if (!take(entry)) return whole;
    whole += *size + kCheckBytes;
  }
}

Status CheckedLog::append(ByteView entry) {
  if (keeps_nothing()) return {};
  Bytes bytes(entry.begin(), entry.end());
  const Digest digest = sha256(entry);
  bytes.insert(bytes.end(), digest.bytes.begin(), digest.bytes.begin() + kCheckBytes);
  COT_TRY(end_.write_all(bytes));
  return end_.sync();
}

Status CheckedLog::read(const Take& take) const {
  if (keeps_nothing()) return {};
  COT_ASSIGN(const Bytes bytes, os::read_file(file_, terms_.file_bytes_max));
  (void)read_entries(bytes, take);
  return {};
}

Status CheckedLog::clear() { return keeps_nothing() ? Status() : end_.truncate(); }

}  // namespace coterie
