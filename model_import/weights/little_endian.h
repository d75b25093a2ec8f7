// Little-endian integers in bytes; whoever asks has looked at the size.
#pragma once

#include "base/assert.h"
#include "base/bytes.h"

namespace coterie::model_import {

inline uint64_t integer_at(ByteView bytes, uint64_t at, size_t width) {
  COT_ASSERT(at <= bytes.size() && width <= bytes.size() - at);
  uint64_t value = 0;
  for (size_t i = width; i-- > 0;) value = value << 8 | bytes[at + i];
  return value;
}
inline uint16_t u16_at(ByteView bytes, uint64_t at) { return static_cast<uint16_t>(integer_at(bytes, at, 2)); }
inline uint32_t u32_at(ByteView bytes, uint64_t at) { return static_cast<uint32_t>(integer_at(bytes, at, 4)); }
inline uint64_t u64_at(ByteView bytes, uint64_t at) { return integer_at(bytes, at, 8); }

}  // namespace coterie::model_import
