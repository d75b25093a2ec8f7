#include "tools/vertical/heard_log.h"

#include <algorithm>
#include <utility>

#include "secure/crypto/sha256.h"
#include "vertical/stage/wire.h"

namespace coterie {
namespace {

constexpr uint64_t kHeardBytesMax = uint64_t{1} << 32;  // of a matching in the smallest buckets there may be
constexpr size_t kSaidBytes = 2 + 2 + 4 + 32;
constexpr size_t kCheckBytes = 8;
constexpr size_t kEntryBytes = kSaidBytes + kCheckBytes;

// With the first bytes of its digest: of an entry that was being written when the power went, a part may be there.
Bytes write_entry(const HeardName& name, const Digest& digest) {
  vertical::WireWriter writer;
  writer.u16(static_cast<uint16_t>(name.stage));
  writer.u16(name.part);
  writer.u32(name.unit);
  writer.digest(digest);
  Bytes entry = writer.take();
  const Digest check = sha256(entry);
  entry.insert(entry.end(), check.bytes.begin(), check.bytes.begin() + kCheckBytes);
  return entry;
}

}  // namespace

Result<HeardLog> HeardLog::open(const std::string& file) {
  HeardLog log(file);
  Bytes bytes;
  const bool is_new = !os::exists(file);
  if (!is_new) {
    COT_ASSIGN(bytes, os::read_file(file, kHeardBytesMax));
  }
  size_t whole = 0;
  vertical::WireReader reader(bytes);
  while (bytes.size() - whole >= kEntryBytes) {
    const auto stage = static_cast<vertical::StageId>(reader.u16());
    const uint16_t part = reader.u16();
    const uint32_t unit = reader.u32();
    const Digest digest = reader.digest();
    reader.raw(kCheckBytes);
    const HeardName name{.stage = stage, .part = part, .unit = unit};
    const Bytes entry = write_entry(name, digest);
    if (!std::ranges::equal(entry, ByteView(bytes).subspan(whole, kEntryBytes))) break;
    log.heard_.emplace(name, digest);
    whole += kEntryBytes;
  }
  if (whole < bytes.size()) COT_TRY(os::write_file_atomically(file, ByteView(bytes).first(whole)));
  COT_ASSIGN(log.end_, os::File::open_append(file));
  if (is_new) COT_TRY(os::sync_directory(os::parent_directory(file)));
  return log;
}

Status HeardLog::hear(const HeardName& name, ByteView what) {
  if (file_.empty()) return {};
  const Digest digest = sha256(what);
  if (const auto known = heard_.find(name); known != heard_.end()) {
    if (known->second == digest) return {};
    return Error(ErrorCode::refused,
                 "resume: the other party says something else than before the run was cut off, in the " +
                     std::string(vertical::stage_name(name.stage)) + "; submit another job",
                 "replay_differs");
  }
  COT_TRY(end_.write_all(write_entry(name, digest)));
  COT_TRY(end_.sync());
  heard_.emplace(name, digest);
  return {};
}

Status HeardLog::clear() {
  heard_.clear();
  return file_.empty() ? Status() : end_.truncate();
}

}  // namespace coterie
