#include "fl_server/records/cosine_record.h"

#include <algorithm>
#include <cstring>

namespace coterie {

Bytes encode_cosines(const CosineHistogram& cosines) {
  Bytes bytes((kCosineBuckets + 1) * sizeof(uint64_t));
  std::memcpy(bytes.data(), cosines.counts.data(), sizeof cosines.counts);
  std::memcpy(bytes.data() + sizeof cosines.counts, &cosines.undirected, sizeof cosines.undirected);
  return bytes;
}

Result<CosineHistogram> decode_cosines(ByteView bytes) {
  const Error bad(ErrorCode::data_loss, "database: a model's row has update cosines of no known form");
  CosineHistogram cosines;
  if (bytes.size() != sizeof cosines.counts + sizeof cosines.undirected) return bad;
  std::memcpy(cosines.counts.data(), bytes.data(), sizeof cosines.counts);
  std::memcpy(&cosines.undirected, bytes.data() + sizeof cosines.counts, sizeof cosines.undirected);
  constexpr uint64_t kCountMax = uint64_t{1} << 46;  // a sum of all does not wrap, and JSON can say it
  const auto is_too_large = [](uint64_t count) { return count > kCountMax; };
  if (std::ranges::any_of(cosines.counts, is_too_large) || is_too_large(cosines.undirected)) return bad;
  if (cosines.updates() == 0) return bad;
  return cosines;
}

}  // namespace coterie
