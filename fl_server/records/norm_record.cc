#include "fl_server/records/norm_record.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace coterie {

Bytes encode_norms(const NormHistogram& norms) {
  COT_ASSERT(norms.updates() > 0);
  const auto has_any = [](uint64_t count) { return count > 0; };
  const auto first = std::ranges::find_if(norms.counts, has_any);
  const auto last = std::find_if(norms.counts.rbegin(), norms.counts.rend(), has_any).base();
  Bytes bytes = {static_cast<uint8_t>(first - norms.counts.begin())};
  const auto* const counts = reinterpret_cast<const uint8_t*>(&*first);
  bytes.insert(bytes.end(), counts, counts + static_cast<size_t>(last - first) * sizeof(uint64_t));
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
