// The Merkle tree over a roster: RFC 9162's hash, and proofs of any set of leaves.
#include "secure/secagg/roster.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "secure/crypto/sha256.h"
#include "secure/secagg/fault.h"
#include "tests/support/matchers.h"

namespace coterie::secagg {
namespace {

std::vector<Digest> some_leaves(size_t count) {
  std::vector<Digest> leaves;
  for (size_t i = 0; i < count; ++i) leaves.push_back(sha256(as_bytes("leaf " + std::to_string(i))));
  return leaves;
}

// RFC 9162 section 2.1.1, word by word.
Digest merkle_tree_hash(std::span<const Digest> leaves) {
  if (leaves.size() == 1) return leaves[0];
  size_t k = 1;
  while (2 * k < leaves.size()) k *= 2;
  Bytes both;
  for (const Digest& half : {merkle_tree_hash(leaves.first(k)), merkle_tree_hash(leaves.subspan(k))}) {
    both.insert(both.end(), half.bytes.begin(), half.bytes.end());
  }
  return sha256(1, both);
}

TEST(Roster, RootIsTheRfcs) {
  for (size_t size = 1; size <= 70; ++size) {
    EXPECT_EQ(RosterTree(some_leaves(size)).root(), merkle_tree_hash(some_leaves(size))) << size;
  }
}

TEST(Roster, EverySubsetProvesTheRoot) {
  for (uint32_t size = 1; size <= 9; ++size) {
    const std::vector<Digest> leaves = some_leaves(size);
    const RosterTree tree(leaves);
    for (uint32_t subset = 1; subset < 1u << size; ++subset) {
      std::vector<uint32_t> devices;
      std::vector<ShownLeaf> shown;
      for (uint32_t device = 0; device < size; ++device) {
        if ((subset >> device & 1) == 0) continue;
        devices.push_back(device);
        shown.push_back({device, leaves[device]});
      }
      const std::vector<Digest> proof = tree.proof(devices);
      const auto root = root_of(size, shown, proof);
      ASSERT_OK(root);
      EXPECT_EQ(*root, tree.root());
      if (devices.size() == size) EXPECT_TRUE(proof.empty());

      // Nothing of it can be changed.
      shown.back().leaf.bytes[31] ^= 1;
      EXPECT_NE(*root_of(size, shown, proof), tree.root());
      shown.back().leaf.bytes[31] ^= 1;
      for (size_t i = 0; i < proof.size(); ++i) {
        std::vector<Digest> changed = proof;
        changed[i].bytes[0] ^= 1;
        EXPECT_NE(*root_of(size, shown, changed), tree.root());
      }
      std::vector<Digest> longer = proof;
      longer.emplace_back();
      EXPECT_ERROR(root_of(size, shown, longer), ErrorCode::refused, "too long");
      if (!proof.empty()) {
        EXPECT_ERROR(root_of(size, shown, std::span(proof).first(proof.size() - 1)), ErrorCode::refused, "too short");
      }
    }
  }
}

TEST(Roster, AProofOfOneAmongThousandsIsShort) {
  const std::vector<Digest> leaves = some_leaves(10'000);
  const RosterTree tree(leaves);
  for (const uint32_t device : {0u, 4711u, 8191u, 8192u, 9999u}) {
    const std::vector<Digest> proof = tree.proof(std::span(&device, 1));
    EXPECT_LE(proof.size(), 14u);
    const ShownLeaf shown{device, leaves[device]};
    EXPECT_EQ(*root_of(10'000, std::span(&shown, 1), proof), tree.root());
  }
}

TEST(Roster, LeavesHoldEveryField) {
  KeyAdvert advert;
  advert.identity.public_key = {1, 2};
  advert.identity.certificate = {3};
  const Digest leaf = roster_leaf(4, advert);
  EXPECT_NE(roster_leaf(5, advert), leaf);
  const auto differs = [&](auto change) {
    KeyAdvert other = advert;
    change(other);
    return roster_leaf(4, other) != leaf;
  };
  EXPECT_TRUE(differs([](KeyAdvert& a) { a.identity.key_algorithm = KeyAlgorithm::p256; }));
  EXPECT_TRUE(differs([](KeyAdvert& a) { a.identity = {KeyAlgorithm::ed25519, {1}, {2, 3}}; }));
  EXPECT_TRUE(differs([](KeyAdvert& a) { a.identity.certificate = {}; }));
  EXPECT_TRUE(differs([](KeyAdvert& a) { a.mask_key[31] = 1; }));
  EXPECT_TRUE(differs([](KeyAdvert& a) { a.seal_key[0] = 1; }));
  EXPECT_TRUE(differs([](KeyAdvert& a) { a.seed_commitment.bytes[1] = 1; }));
  EXPECT_TRUE(differs([](KeyAdvert& a) { a.nonce[1] = 1; }));
  EXPECT_TRUE(differs([](KeyAdvert& a) { a.signature = {0}; }));
}

}  // namespace
}  // namespace coterie::secagg
