#include "tools/vertical/grown_log.h"

#include "secure/crypto/sha256.h"
#include "vertical/stage/wire.h"

namespace coterie {
namespace {

constexpr uint64_t kGrownBytesMax = uint64_t{16} << 30;
constexpr size_t kHeadBytes = 8;  // the number, and how many bytes are behind this

std::optional<uint64_t> measure(ByteView bytes) {
  if (bytes.size() < kHeadBytes) return std::nullopt;
  vertical::WireReader reader(bytes.subspan(kHeadBytes - 4));
  return kHeadBytes + uint64_t{reader.u32()};
}

}  // namespace

Result<GrownLog> GrownLog::open(const std::string& file) {
  GrownLog log;
  COT_ASSIGN(log.log_,
             CheckedLog::open(file, {.file_bytes_max = kGrownBytesMax, .measure = measure}, [&](ByteView entry) {
               if (vertical::WireReader(entry).u32() != log.digests_.size()) return false;
               log.digests_.push_back(sha256(entry.subspan(kHeadBytes)));
               return true;
             }));
  return log;
}

Status GrownLog::put(uint32_t number, ByteView bytes) {
  if (log_.keeps_nothing()) return {};
  const Digest digest = sha256(bytes);
  COT_ASSERT(number <= digests_.size());
  if (number < digests_.size()) {
    if (digests_[number] == digest) return {};
    return Error(ErrorCode::data_loss, log_.file() + ": number " + std::to_string(number) +
                                           " of the training came out otherwise than before");
  }
  vertical::WireWriter writer;
  writer.reserve(kHeadBytes + bytes.size());
  writer.u32(number);
  writer.u32(static_cast<uint32_t>(bytes.size()));
  writer.raw(bytes);
  COT_TRY(log_.append(writer.take()));
  digests_.push_back(digest);
  return {};
}

Result<std::vector<Bytes>> GrownLog::read() const {
  std::vector<Bytes> all;
  COT_TRY(log_.read([&](ByteView entry) {
    const ByteView bytes = entry.subspan(kHeadBytes);
    all.emplace_back(bytes.begin(), bytes.end());
    return true;
  }));
  if (all.size() < digests_.size()) return Error(ErrorCode::data_loss, log_.file() + ": it is not as it was written");
  return all;
}

}  // namespace coterie
