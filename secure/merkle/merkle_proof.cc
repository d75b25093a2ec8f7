#include "secure/merkle/merkle_proof.h"

#include <string>

#include "secure/merkle/merkle_hash.h"

namespace coterie {
namespace {

Error not_shown(const std::string& what) { return Error(ErrorCode::data_loss, "merkle log: " + what); }

}  // namespace

Status verify_inclusion(const Digest& leaf, uint64_t index, uint64_t size, std::span<const Digest> proof,
                        const Digest& root) {
  const Error fails = not_shown("the proof does not show the leaf in the log");
  if (index >= size || proof.size() > kMerkleProofMax) return fails;
  uint64_t node = index, last = size - 1;
  Digest hash = leaf;
  for (const Digest& sibling : proof) {
    if (last == 0) return fails;
    // A right child has its sibling at the left. So has the last node of an odd level, but some levels further up: it
    // had none in its own.
    if (node % 2 == 1 || node == last) {
      hash = merkle_node(sibling, hash);
      while (node % 2 == 0 && node != 0) {
        node /= 2;
        last /= 2;
      }
    } else {
      hash = merkle_node(hash, sibling);
    }
    node /= 2;
    last /= 2;
  }
  return last == 0 && hash == root ? Status() : Status(fails);
}

Status verify_consistency(uint64_t before, const Digest& root_before, uint64_t size, const Digest& root,
                          std::span<const Digest> proof) {
  if (before > size) {
    return not_shown("has " + std::to_string(size) + " records, had " + std::to_string(before) + ": its end is gone");
  }
  const Error fails = not_shown("does not begin with the records that were there");
  if (before == 0) {
    return proof.empty() && root_before == merkle_empty_root() ? Status() : Status(fails);
  }
  if (before == size) return proof.empty() && root_before == root ? Status() : Status(fails);
  if (proof.empty() || proof.size() > kMerkleProofMax) return fails;
  uint64_t node = before - 1, last = size - 1;
  while (node % 2 == 1) {
    node /= 2;
    last /= 2;
  }
  // A log of a power of two is a node of the longer one: its root is where the proof begins.
  const bool is_node = node == 0;
  const Digest& first = is_node ? root_before : proof.front();
  Digest old_hash = first, hash = first;
  for (const Digest& sibling : proof.subspan(is_node ? 0 : 1)) {
    if (last == 0) return fails;
    if (node % 2 == 1 || node == last) {
      old_hash = merkle_node(sibling, old_hash);
      hash = merkle_node(sibling, hash);
      while (node % 2 == 0 && node != 0) {
        node /= 2;
        last /= 2;
      }
    } else {
      hash = merkle_node(hash, sibling);
    }
    node /= 2;
    last /= 2;
  }
  return last == 0 && old_hash == root_before && hash == root ? Status() : Status(fails);
}

}  // namespace coterie
