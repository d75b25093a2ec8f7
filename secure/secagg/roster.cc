#include "secure/secagg/roster.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/assert.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/sha256.h"
#include "secure/secagg/fault.h"

namespace coterie::secagg {
namespace {

Digest node(const Digest& left, const Digest& right) {
  // Leaves are hashed with the byte 0 in front and nodes with 1 (RFC 6962, section 2.1): otherwise a node could be
  // shown as somebody's leaf.
  std::array<uint8_t, 64> both;
  std::ranges::copy(left.bytes, both.begin());
  std::ranges::copy(right.bytes, both.begin() + 32);
  return sha256(1, both);
}

// Where a tree over [begin, end) splits: the largest power of two below its size.
size_t middle(size_t begin, size_t end) { return begin + std::bit_floor(end - begin - 1); }

template <typename Shown>
auto split_at(std::span<const Shown> shown, size_t device, auto device_of) {
  const auto first_right = std::ranges::partition_point(shown, [&](const Shown& s) { return device_of(s) < device; });
  const auto left = static_cast<size_t>(first_right - shown.begin());
  return std::pair(shown.first(left), shown.subspan(left));
}

uint32_t itself(uint32_t device) { return device; }
uint32_t device_of(const ShownLeaf& leaf) { return leaf.device; }

Result<Digest> rebuild(size_t begin, size_t end, std::span<const ShownLeaf> shown, std::span<const Digest>& proof) {
  if (shown.empty()) {
    if (proof.empty()) return fault(Fault::bad_proof, "the proof of a roster is too short");
    const Digest subtree = proof.front();
    proof = proof.subspan(1);
    return subtree;
  }
  if (end - begin == 1) return shown.front().leaf;
  // The proof has the roots of subtrees without a shown leaf, from left to right. Both ends walk the same tree, so that
  // it needs no places.
  const size_t split = middle(begin, end);
  const auto [left_shown, right_shown] = split_at(shown, split, device_of);
  COT_ASSIGN(const Digest left, rebuild(begin, split, left_shown, proof));
  COT_ASSIGN(const Digest right, rebuild(split, end, right_shown, proof));
  return node(left, right);
}

}  // namespace

Digest roster_leaf(uint32_t device, const KeyAdvert& advert) {
  DomainFields fields("coterie/v1/roster-leaf");
  fields.add(device)
      .add(static_cast<uint64_t>(advert.identity.key_algorithm))
      .add(advert.identity.public_key)
      .add(advert.identity.certificate)
      .add(advert.mask_key)
      .add(advert.seal_key)
      .add(advert.seed_commitment.view())
      .add(advert.nonce)
      .add(advert.signature);
  return sha256(0, fields.view());
}

RosterTree::RosterTree(std::vector<Digest> leaves) {
  COT_ASSERT(!leaves.empty());
  levels_.push_back(std::move(leaves));
  while (levels_.back().size() >= 2) {
    const std::vector<Digest>& below = levels_.back();
    std::vector<Digest> level(below.size() / 2);
    for (size_t i = 0; i < level.size(); ++i) level[i] = node(below[2 * i], below[2 * i + 1]);
    levels_.push_back(std::move(level));
  }
}

// Subtrees of a power of two of leaves lie in levels_; all others are at the right edge, at most one a height.
Digest RosterTree::hash(size_t begin, size_t end) const {
  if (std::has_single_bit(end - begin)) return levels_[std::countr_zero(end - begin)][begin / (end - begin)];
  const size_t split = middle(begin, end);
  return node(hash(begin, split), hash(split, end));
}

void RosterTree::prove(size_t begin, size_t end, std::span<const uint32_t> shown, std::vector<Digest>& proof) const {
  if (shown.empty()) {
    proof.push_back(hash(begin, end));
  } else if (end - begin > 1) {
    const size_t split = middle(begin, end);
    const auto [left, right] = split_at(shown, split, itself);
    prove(begin, split, left, proof);
    prove(split, end, right, proof);
  }
}

std::vector<Digest> RosterTree::proof(std::span<const uint32_t> shown) const {
  std::vector<Digest> proof;
  prove(0, levels_[0].size(), shown, proof);
  return proof;
}

Result<Digest> root_of(uint32_t size, std::span<const ShownLeaf> shown, std::span<const Digest> proof) {
  if (shown.empty() || shown.back().device >= size)
    return fault(Fault::bad_proof, "a roster's proof shows no leaf of it");
  COT_ASSIGN(const Digest root, rebuild(0, size, shown, proof));
  if (!proof.empty()) return fault(Fault::bad_proof, "the proof of a roster is too long");
  return root;
}

}  // namespace coterie::secagg
