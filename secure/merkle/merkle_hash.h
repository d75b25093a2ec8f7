// The hashes of a Merkle log: RFC 9162 section 2.1.1 with SHA-256, as RFC 6962 has them.
#pragma once

#include "base/bytes.h"

namespace coterie {

// SHA-256(0x00 || leaf).
Digest merkle_leaf(ByteView leaf);
// SHA-256(0x01 || left || right).
Digest merkle_node(const Digest& left, const Digest& right);
// The root of a log without leaves: SHA-256 of nothing.
Digest merkle_empty_root();

}  // namespace coterie
