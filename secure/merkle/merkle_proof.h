// What proofs of a Merkle log show to who has nothing but roots: RFC 9162 sections 2.1.3.2 and 2.1.4.2. Pure. Proofs
// come from outside: any bytes are taken, and at most kMerkleProofMax hashes are looked at.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

inline constexpr size_t kMerkleProofMax = 65;  // of any log of less than 2^64 leaves

// `leaf`: merkle_leaf() of the entry. data_loss unless it is leaf `index` of the log of `size` leaves with this root.
Status verify_inclusion(const Digest& leaf, uint64_t index, uint64_t size, std::span<const Digest> proof,
                        const Digest& root);

// data_loss unless the log of `size` leaves with `root` begins with the log of `before` leaves with `root_before`. Any
// log begins with that of no leaves.
Status verify_consistency(uint64_t before, const Digest& root_before, uint64_t size, const Digest& root,
                          std::span<const Digest> proof);

}  // namespace coterie
