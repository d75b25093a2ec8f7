#include "fl_server/records/delta_chain.h"

#include <algorithm>
#include <cstring>

namespace coterie {
namespace {

constexpr size_t kEntryBytes = 2 * sizeof(Digest) + sizeof(uint64_t);

}  // namespace

Bytes encode_delta_chain(const std::vector<DeltaFile>& deltas) {
  Bytes bytes;
  for (const DeltaFile& delta : deltas) {
    bytes.insert(bytes.end(), delta.base.bytes.begin(), delta.base.bytes.end());
    bytes.insert(bytes.end(), delta.file.bytes.begin(), delta.file.bytes.end());
    const auto* const size = reinterpret_cast<const uint8_t*>(&delta.bytes);
    bytes.insert(bytes.end(), size, size + sizeof delta.bytes);
  }
  return bytes;
}

Result<std::vector<DeltaFile>> decode_delta_chain(ByteView bytes) {
  if (bytes.size() % kEntryBytes != 0 || bytes.size() > kEntryBytes * kDeltaChainMax) {
    return Error(ErrorCode::data_loss, "database: a model's row has deltas of no known form");
  }
  std::vector<DeltaFile> deltas(bytes.size() / kEntryBytes);
  for (DeltaFile& delta : deltas) {
    std::copy_n(bytes.begin(), sizeof(Digest), delta.base.bytes.begin());
    std::copy_n(bytes.begin() + sizeof(Digest), sizeof(Digest), delta.file.bytes.begin());
    std::memcpy(&delta.bytes, bytes.data() + 2 * sizeof(Digest), sizeof delta.bytes);
    bytes = bytes.subspan(kEntryBytes);
  }
  return deltas;
}

}  // namespace coterie
