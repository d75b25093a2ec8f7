// Values as the bytes that blobs have of them.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace coterie {

inline std::span<uint8_t> as_writable(std::span<float> values) {
  return {reinterpret_cast<uint8_t*>(values.data()), values.size_bytes()};
}
inline std::span<uint8_t> as_writable(std::span<uint64_t> lanes) {
  return {reinterpret_cast<uint8_t*>(lanes.data()), lanes.size_bytes()};
}
inline ByteView as_readable(std::span<const float> values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

}  // namespace coterie
