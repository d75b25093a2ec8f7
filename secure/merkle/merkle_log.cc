#include "secure/merkle/merkle_log.h"

#include <bit>
#include <string>

#include "base/assert.h"
#include "secure/merkle/merkle_hash.h"

namespace coterie {
namespace {

// The largest power of two below n. Precondition: n > 1.
uint64_t split_of(uint64_t n) { return std::bit_floor(n - 1); }

Error out_of_range(const std::string& what) { return Error(ErrorCode::invalid_argument, "merkle log: " + what); }

}  // namespace

void MerkleLog::append(const Digest& leaf) {
  Digest hash = leaf;
  for (size_t level = 0;; ++level) {
    if (level == levels_.size()) levels_.emplace_back();
    std::vector<Digest>& row = levels_[level];
    row.push_back(hash);
    // A node is made when its second child is there, and never changes. What is left over at the right end changes with
    // each leaf, so it is hashed when somebody asks.
    if (row.size() % 2 == 1) return;
    hash = merkle_node(row[row.size() - 2], row.back());
  }
}

Digest MerkleLog::hash_of(uint64_t begin, uint64_t end) const {
  const uint64_t count = end - begin;
  // Full subtrees are all kept. Their begin is a multiple of their size, as every split is at a power of two.
  if (std::has_single_bit(count)) return levels_[static_cast<size_t>(std::countr_zero(count))][begin / count];
  const uint64_t middle = begin + split_of(count);
  return merkle_node(hash_of(begin, middle), hash_of(middle, end));
}

Digest MerkleLog::root(uint64_t size) const {
  COT_ASSERT(size <= this->size());
  return size == 0 ? merkle_empty_root() : hash_of(0, size);
}

// From the root down, so that the siblings come in the opposite order of the proof's.
Result<std::vector<Digest>> MerkleLog::inclusion_proof(uint64_t index, uint64_t size) const {
  if (index >= size || size > this->size()) {
    return out_of_range("no leaf " + std::to_string(index) + " in " + std::to_string(size) + " of " +
                        std::to_string(this->size()));
  }
  std::vector<Digest> proof;
  for (uint64_t begin = 0, end = size; end - begin > 1;) {
    const uint64_t middle = begin + split_of(end - begin);
    const bool is_left = index < middle;
    proof.push_back(is_left ? hash_of(middle, end) : hash_of(begin, middle));
    (is_left ? end : begin) = middle;
  }
  return std::vector<Digest>(proof.rbegin(), proof.rend());
}

Result<std::vector<Digest>> MerkleLog::consistency_proof(uint64_t before, uint64_t size) const {
  if (before > size || size > this->size()) {
    return out_of_range("no log of " + std::to_string(before) + " within " + std::to_string(size) + " of " +
                        std::to_string(this->size()));
  }
  std::vector<Digest> proof;
  if (before == 0 || before == size) return proof;
  uint64_t begin = 0, end = size;
  // Down to the subtree that ends where the older log ended: it is part of both logs.
  while (before != end) {
    const uint64_t middle = begin + split_of(end - begin);
    const bool is_left = before <= middle;
    proof.push_back(is_left ? hash_of(middle, end) : hash_of(begin, middle));
    (is_left ? end : begin) = middle;
  }
  if (begin != 0) proof.push_back(hash_of(begin, end));  // else it is the root of before, which who checks has
  return std::vector<Digest>(proof.rbegin(), proof.rend());
}

}  // namespace coterie
