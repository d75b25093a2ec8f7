// ByteSource: random bytes by position. The same position gives the same bytes for ever, so that a vector may be noised
// in pieces, in any order and on any thread, and a test may say what the bytes are.
//
// What stands behind one must be a cryptographic stream of a fresh secret seed wherever privacy depends on it; a seed
// serves one purpose in one round and is wiped behind it.
#pragma once

#include <cstdint>
#include <span>

namespace coterie {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills `out` with the bytes at [byte_offset, byte_offset + out.size()). Threads may call it at once.
  virtual void write(uint64_t byte_offset, std::span<uint8_t> out) const = 0;
};

}  // namespace coterie
