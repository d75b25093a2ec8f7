#include "tools/vertical/heard_log.h"

#include "secure/crypto/sha256.h"
#include "vertical/stage/wire.h"

namespace coterie {
namespace {

constexpr uint64_t kHeardBytesMax = uint64_t{1} << 32;  // of a matching in the smallest buckets there may be
constexpr size_t kEntryBytes = 2 + 2 + 4 + 32;

std::optional<uint64_t> measure(ByteView) { return kEntryBytes; }

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
  HeardLog log;
  COT_ASSIGN(log.log_,
             CheckedLog::open(file, {.file_bytes_max = kHeardBytesMax, .measure = measure}, [&](ByteView entry) {
               vertical::WireReader reader(entry);
               const auto stage = static_cast<vertical::StageId>(reader.u16());
               const uint16_t part = reader.u16();
               const uint32_t unit = reader.u32();
               log.heard_.emplace(HeardName{.stage = stage, .part = part, .unit = unit}, reader.digest());
               return true;
             }));
  return log;
}

Status HeardLog::hear(const HeardName& name, ByteView what) {
  if (log_.keeps_nothing()) return {};
  const Digest digest = sha256(what);
  if (const auto known = heard_.find(name); known != heard_.end()) {
    if (known->second == digest) return {};
    return Error(ErrorCode::refused,
                 "resume: the other party says something else than before the run was cut off, in the " +
                     std::string(vertical::stage_name(name.stage)) + "; submit another job",
                 "replay_differs");
  }
  COT_TRY(log_.append(write_entry(name, digest)));
  heard_.emplace(name, digest);
  return {};
}

Status HeardLog::clear() {
  heard_.clear();
  return log_.clear();
}

}  // namespace coterie
