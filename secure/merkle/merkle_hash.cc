#include "secure/merkle/merkle_hash.h"

#include <algorithm>

#include "secure/crypto/sha256.h"

namespace coterie {

Digest merkle_leaf(ByteView leaf) { return sha256(0x00, leaf); }

Digest merkle_node(const Digest& left, const Digest& right) {
  std::array<uint8_t, 64> both;
  std::ranges::copy(left.bytes, both.begin());
  std::ranges::copy(right.bytes, both.begin() + 32);
  return sha256(0x01, both);
}

Digest merkle_empty_root() { return sha256(ByteView()); }

}  // namespace coterie
