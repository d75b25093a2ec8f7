#include "fl_server/records/norm_record.h"

#include <algorithm>
#include <cstring>

#include "proto/messages/norm_buckets.h"

namespace coterie {

Bytes encode_norms(const NormHistogram& norms) {
  const auto [begin, end] = used_norm_buckets(norms);
  Bytes bytes = {static_cast<uint8_t>(begin)};
  const auto* const counts = reinterpret_cast<const uint8_t*>(norms.counts.data() + begin);
  bytes.insert(bytes.end(), counts, counts + (end - begin) * sizeof(uint64_t));
  return bytes;
}

Result<NormHistogram> decode_norms(ByteView bytes) {
  const Error bad(ErrorCode::data_loss, "database: a model's row has update norms of no known form");
  if (bytes.empty() || (bytes.size() - 1) % sizeof(uint64_t) != 0) return bad;
  const size_t first = bytes[0], count = (bytes.size() - 1) / sizeof(uint64_t);
  if (first + count > kNormBuckets) return bad;
  NormHistogram norms;
  std::memcpy(norms.counts.data() + first, bytes.data() + 1, count * sizeof(uint64_t));
  constexpr uint64_t kUpdatesMax = uint64_t{1} << 53;  // a sum of so many does not wrap, and JSON can say it
  if (std::ranges::any_of(norms.counts, [](uint64_t n) { return n > kUpdatesMax / kNormBuckets; })) return bad;
  if (norms.updates() == 0) return bad;
  return norms;
}

}  // namespace coterie
