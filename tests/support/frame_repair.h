// For fuzzing behind the frame: mutations rarely keep a frame's sizes consistent.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "proto/codec/frame.h"
#include "proto/codec/limits.h"

namespace coterie::test {

// `input` read as a frame of `kind` whatever its prelude says, but for the header's size as far as that is possible:
// magic, version, padding and the payload's size are made true.
inline Bytes with_true_sizes(ByteView input, FrameKind kind) {
  if (input.size() < kPreludeBytes) return Bytes(input.begin(), input.end());
  uint32_t header_bytes = 0;
  std::memcpy(&header_bytes, input.data() + 8, sizeof header_bytes);
  const size_t behind_prelude = std::min(input.size() - kPreludeBytes, limits::kWireHeaderBytesMax);
  header_bytes = static_cast<uint32_t>(std::min<size_t>(header_bytes, behind_prelude));
  const size_t payload_at = std::min(round_up<size_t>(kPreludeBytes + header_bytes, 64), input.size());
  return build_frame(kind, input.subspan(kPreludeBytes, header_bytes), input.subspan(payload_at));
}

}  // namespace coterie::test
