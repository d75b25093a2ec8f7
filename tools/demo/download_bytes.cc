#include "tools/demo/download_bytes.h"

#include <algorithm>

#include "proto/codec/codec.h"
#include "proto/delta/model_delta.h"

namespace coterie {

uint64_t download_bytes(const DownloadSettings& download, ByteView model) {
  if (!download.is_on()) return model.size();
  const auto decoded = decode_model(model);
  COT_ASSERT(decoded.has_value());
  const uint64_t payload = payload_bytes_max(delta_ranges(decoded->header), download.bits);
  const uint64_t head = encode_head(ModelDelta{.base = {}, .result = {}, .bits = download.bits}, payload).size();
  return std::min<uint64_t>(model.size(), head + payload);
}

}  // namespace coterie
