// Zstandard frames as RFC 8878 describes them, without compression and without libzstd: written by another hand.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"

namespace coterie::test {

inline constexpr size_t kZstdBlockMax = 128 * 1024;
inline constexpr uint32_t kZstdRawBlock = 0, kZstdRepeatedByte = 1;

// A frame that says neither its size nor a checksum. `window_descriptor`: 0x38 is 128 KiB, (log2 - 10) * 8.
inline Bytes zstd_head(uint8_t window_descriptor = 0x38) { return {0x28, 0xb5, 0x2f, 0xfd, 0, window_descriptor}; }

inline void add_zstd_block(Bytes& file, uint32_t kind, size_t size, bool is_last) {
  const uint32_t head = static_cast<uint32_t>(size << 3) | kind << 1 | (is_last ? 1 : 0);
  for (int i = 0; i < 3; ++i) file.push_back(static_cast<uint8_t>(head >> (8 * i)));
}

inline Bytes stored_zstd(ByteView bytes) {
  Bytes file = zstd_head();
  for (size_t at = 0; at == 0 || at < bytes.size(); at += kZstdBlockMax) {
    const size_t size = std::min(kZstdBlockMax, bytes.size() - at);
    add_zstd_block(file, kZstdRawBlock, size, at + size == bytes.size());
    const ByteView block = bytes.subspan(at, size);
    file.insert(file.end(), block.begin(), block.end());
  }
  return file;
}

// So many blocks of a byte that is repeated: 4 bytes for 128 KiB.
inline Bytes zstd_bomb(size_t blocks) {
  Bytes file = zstd_head();
  for (size_t i = 0; i < blocks; ++i) {
    add_zstd_block(file, kZstdRepeatedByte, kZstdBlockMax, i + 1 == blocks);
    file.push_back(' ');
  }
  return file;
}

}  // namespace coterie::test
