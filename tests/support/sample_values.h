// Values that samples are made of: bytes that count, so that a shifted or swapped field is seen.
#pragma once

#include <limits>
#include <numeric>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"

namespace coterie::test {

inline constexpr uint32_t kMax32 = std::numeric_limits<uint32_t>::max();
inline constexpr uint64_t kMax64 = std::numeric_limits<uint64_t>::max();

inline Bytes counting(size_t size, uint8_t first = 1) {
  Bytes bytes(size);
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}

inline Digest counting_digest(uint8_t first) {
  Digest digest;
  std::iota(digest.bytes.begin(), digest.bytes.end(), first);
  return digest;
}

inline DeviceId counting_device(uint8_t first) {
  DeviceId device;
  std::iota(device.bytes.begin(), device.bytes.end(), first);
  return device;
}

// Text of every byte value but 0 and of exactly this size: a limit counts bytes, not characters.
inline std::string odd_text(size_t size) {
  std::string text(size, ' ');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(1 + i % 255);
  return text;
}

}  // namespace coterie::test
