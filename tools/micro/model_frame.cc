#include "tools/micro/model_frame.h"

#include <algorithm>
#include <optional>

#include "base/bytes.h"
#include "proto/codec/codec.h"
#include "proto/codec/frame.h"

namespace coterie {
namespace {

uint64_t fnv1a(ByteView bytes) {
  uint64_t hash = 14695981039346656037u;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 1099511628211u;
  return hash;
}

}  // namespace

Result<MicroModelFrame> micro_model_frame(ByteView file) {
  COT_ASSIGN(const Prelude prelude, parse_prelude(file));
  if (prelude.kind != FrameKind::model || file.size() < kPreludeBytes + prelude.header_bytes) {
    return Error(ErrorCode::malformed, "it is not a model file with its whole header");
  }
  Bytes header(file.begin() + kPreludeBytes, file.begin() + kPreludeBytes + prelude.header_bytes);
  COT_ASSIGN(const std::optional<uint64_t> seal, seal_place(FrameKind::model, header));
  MicroModelFrame frame{.header_bytes = prelude.header_bytes, .payload_values = prelude.payload_bytes / sizeof(float)};
  if (frame.payload_values > UINT32_MAX) {
    return Error(ErrorCode::invalid_argument, "its parameters are more than 32 bits count");
  }
  if (seal) {
    frame.seal_at = static_cast<uint32_t>(*seal);
    std::fill_n(header.begin() + frame.seal_at, 32, uint8_t{0});
  }
  frame.header_hash = fnv1a(header);
  return frame;
}

}  // namespace coterie
