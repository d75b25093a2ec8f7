#include "tools/vertical/heard_log.h"

#include <utility>

#include "secure/crypto/sha256.h"
#include "vertical/stage/wire.h"

namespace coterie {
namespace {

constexpr uint64_t kHeardBytesMax = uint64_t{1} << 32;  // of a matching in the smallest buckets there may be
constexpr size_t kEntryBytes = 2 + 2 + 4 + 32;

Bytes write_entry(const HeardName& name, const Digest& digest) {
  vertical::WireWriter writer;
  writer.u16(static_cast<uint16_t>(name.stage));
  writer.u16(name.part);
  writer.u32(name.unit);
  writer.digest(digest);
  return writer.take();
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
    // A file may have grown before its bytes were there: zeros.
    if (stage == vertical::StageId{}) break;
    log.heard_.emplace(HeardName{.stage = stage, .part = part, .unit = unit}, digest);
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
