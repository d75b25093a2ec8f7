// MerkleLog: an append-only list of leaves whose root names all of them, in order (RFC 9162 section 2.1). It answers
// with proofs that are checked against roots alone (merkle_proof.h). Pure; memory is two hashes a leaf. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

class MerkleLog {
 public:
  // `leaf` is what merkle_leaf() makes of the entry.
  void append(const Digest& leaf);

  uint64_t size() const { return levels_.empty() ? 0 : levels_[0].size(); }
  // MTH of the first `size` leaves. Precondition: size <= size().
  Digest root(uint64_t size) const;
  Digest root() const { return root(size()); }

  // That leaf `index` (from 0) is in the log of the first `size` leaves: PATH of section 2.1.3.1. invalid_argument
  // unless index < size <= size().
  Result<std::vector<Digest>> inclusion_proof(uint64_t index, uint64_t size) const;
  // That the log of `size` leaves begins with that of `before`: PROOF of section 2.1.4.1. Empty if they are the same,
  // or nothing was before. invalid_argument unless before <= size <= size().
  Result<std::vector<Digest>> consistency_proof(uint64_t before, uint64_t size) const;

 private:
  // MTH of the leaves [begin, end), which are at least one.
  Digest hash_of(uint64_t begin, uint64_t end) const;

  std::vector<std::vector<Digest>> levels_;  // [k][i]: of the 2^k leaves from i * 2^k on, where all of them are there
};

}  // namespace coterie
