// Gzip files as RFC 1952 describes them, without compression and without zlib: written by another hand.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"

namespace coterie::test {

inline uint32_t crc32(ByteView bytes) {
  uint32_t crc = 0xffffffff;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

inline Bytes stored_gzip(ByteView bytes) {
  constexpr size_t kBlockMax = 65'535;
  Bytes file = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
  const auto add = [&file](uint32_t value, int count) {
    for (int i = 0; i < count; ++i) file.push_back(static_cast<uint8_t>(value >> (8 * i)));
  };
  for (size_t at = 0; at == 0 || at < bytes.size(); at += kBlockMax) {
    const size_t size = std::min(kBlockMax, bytes.size() - at);
    add(at + size == bytes.size() ? 1 : 0, 1);
    add(static_cast<uint32_t>(size), 2);
    add(~static_cast<uint32_t>(size) & 0xffff, 2);
    file.insert(file.end(), bytes.begin() + static_cast<ptrdiff_t>(at),
                bytes.begin() + static_cast<ptrdiff_t>(at + size));
  }
  add(crc32(bytes), 4);
  add(static_cast<uint32_t>(bytes.size()), 4);
  return file;
}

}  // namespace coterie::test
