// SipHash-2-4 (Aumasson and Bernstein, 2012): 64 bits under a key, for tables whose entries others choose. Who does not
// know the key cannot make entries that collide. It is no digest: 64 bits are few.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"

namespace coterie {

class ShortHash {
 public:
  using Key = std::array<uint8_t, 16>;

  explicit ShortHash(const Key& key) : key_(key) {}
  // Under a key that nobody knows.
  static ShortHash fresh();

  uint64_t operator()(ByteView message) const;

 private:
  Key key_;
};

}  // namespace coterie
