// The Merkle log against the test trees of RFC 6962's authors, the worked example of RFC 9162 section 2.1.5, the
// definition itself, and proofs that are not what they should be.
#include "secure/merkle/merkle_log.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "base/random.h"
#include "secure/merkle/merkle_hash.h"
#include "secure/merkle/merkle_proof.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using Proof = std::vector<Digest>;

Digest numbered_leaf(uint64_t number) {
  const std::string text = "leaf " + std::to_string(number);
  return merkle_leaf(as_bytes(text));
}

MerkleLog log_of(uint64_t size) {
  MerkleLog log;
  for (uint64_t i = 0; i < size; ++i) log.append(numbered_leaf(i));
  return log;
}

// MTH as section 2.1.1 defines it.
Digest defined_root(uint64_t begin, uint64_t end) {
  if (begin == end) return merkle_empty_root();
  if (end - begin == 1) return numbered_leaf(begin);
  uint64_t k = 1;
  while (2 * k < end - begin) k *= 2;
  return merkle_node(defined_root(begin, begin + k), defined_root(begin + k, end));
}

// The inputs and roots that implementations of Certificate Transparency share.
TEST(MerkleLog, HasTheRootsOfTheKnownTrees) {
  const std::vector<std::string> leaves = {
      "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"};
  const std::vector<std::string> roots = {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                                          "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                                          "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                                          "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                                          "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                                          "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                                          "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                                          "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                                          "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};
  MerkleLog log;
  EXPECT_EQ(log.root().hex(), roots[0]);
  for (size_t i = 0; i < leaves.size(); ++i) {
    log.append(merkle_leaf(from_hex(leaves[i]).value()));
    EXPECT_EQ(log.size(), i + 1);
    EXPECT_EQ(log.root().hex(), roots[i + 1]);
  }
  for (size_t size = 0; size < roots.size(); ++size) EXPECT_EQ(log.root(size).hex(), roots[size]) << "as it was";
}

// Section 2.1.5, by its letters: seven leaves a to f and j, and the nodes above them.
TEST(MerkleLog, GivesTheProofsOfTheWorkedExample) {
  const MerkleLog log = log_of(7);
  const Digest a = numbered_leaf(0), b = numbered_leaf(1), c = numbered_leaf(2), d = numbered_leaf(3),
               e = numbered_leaf(4), f = numbered_leaf(5), j = numbered_leaf(6);
  const Digest g = merkle_node(a, b), h = merkle_node(c, d), i = merkle_node(e, f);
  const Digest k = merkle_node(g, h), l = merkle_node(i, j);
  EXPECT_EQ(log.root(), merkle_node(k, l));
  EXPECT_EQ(log.inclusion_proof(0, 7).value(), (Proof{b, h, l}));
  EXPECT_EQ(log.inclusion_proof(3, 7).value(), (Proof{c, g, l}));
  EXPECT_EQ(log.inclusion_proof(4, 7).value(), (Proof{f, j, k}));
  EXPECT_EQ(log.inclusion_proof(6, 7).value(), (Proof{i, k}));
  EXPECT_EQ(log.consistency_proof(3, 7).value(), (Proof{c, d, g, l}));
  EXPECT_EQ(log.consistency_proof(4, 7).value(), (Proof{l}));
  EXPECT_EQ(log.consistency_proof(6, 7).value(), (Proof{i, j, k}));
}

TEST(MerkleLog, ShowsEveryLeafAndEveryBeginningOfEverySize) {
  constexpr uint64_t kSize = 70;
  const MerkleLog log = log_of(kSize);
  for (uint64_t size = 0; size <= kSize; ++size) {
    ASSERT_EQ(log.root(size), defined_root(0, size));
    for (uint64_t index = 0; index < size; ++index) {
      const Proof proof = log.inclusion_proof(index, size).value();
      ASSERT_OK(verify_inclusion(numbered_leaf(index), index, size, proof, log.root(size))) << index << " of " << size;
      ASSERT_LE(proof.size(), std::bit_width(size));
    }
    for (uint64_t before = 0; before <= size; ++before) {
      const Proof proof = log.consistency_proof(before, size).value();
      ASSERT_OK(verify_consistency(before, log.root(before), size, log.root(size), proof)) << before << " " << size;
      ASSERT_LE(proof.size(), std::bit_width(size) + 1);
    }
  }
}

TEST(MerkleLog, GivesNoProofOfWhatItHasNot) {
  const MerkleLog log = log_of(5);
  EXPECT_ERROR(log.inclusion_proof(5, 5), ErrorCode::invalid_argument, "no leaf 5");
  EXPECT_ERROR(log.inclusion_proof(0, 6), ErrorCode::invalid_argument, "");
  EXPECT_ERROR(log.consistency_proof(4, 3), ErrorCode::invalid_argument, "");
  EXPECT_ERROR(log.consistency_proof(4, 6), ErrorCode::invalid_argument, "");
}

// A proof that was changed anywhere, cut, or made longer, and one that is of other sizes, shows nothing.
TEST(MerkleProof, ShowsNothingOnceAnythingOfItIsChanged) {
  constexpr uint64_t kSize = 40;
  const MerkleLog log = log_of(kSize);
  Prng prng(17);
  for (uint64_t size = 1; size <= kSize; ++size) {
    for (uint64_t m = 1; m <= size; ++m) {
      const Digest root = log.root(size);
      const auto shows = [&](const Proof& leaf_proof) {
        return verify_inclusion(numbered_leaf(m - 1), m - 1, size, leaf_proof, root).has_value();
      };
      const auto begins = [&](const Proof& proof) {
        return verify_consistency(m, log.root(m), size, root, proof).has_value();
      };
      for (const bool is_inclusion : {true, false}) {
        const Proof proof =
            is_inclusion ? log.inclusion_proof(m - 1, size).value() : log.consistency_proof(m, size).value();
        const auto verifies = [&](const Proof& p) { return is_inclusion ? shows(p) : begins(p); };
        ASSERT_TRUE(verifies(proof));
        Proof longer = proof;
        longer.push_back(root);
        EXPECT_FALSE(verifies(longer));
        if (proof.empty()) continue;
        Proof changed = proof;
        changed[prng.below(changed.size())].bytes[prng.below(32)] ^= static_cast<uint8_t>(1 + prng.below(255));
        EXPECT_FALSE(verifies(changed));
        Proof cut = proof;
        cut.pop_back();
        EXPECT_FALSE(verifies(cut)) << m << " " << size;
      }
      EXPECT_FALSE(verify_inclusion(numbered_leaf(m), m - 1, size, log.inclusion_proof(m - 1, size).value(), root));
      EXPECT_FALSE(verify_inclusion(numbered_leaf(m - 1), size, size, log.inclusion_proof(m - 1, size).value(), root));
      if (m == size) continue;
      const Proof proof = log.consistency_proof(m, size).value();
      EXPECT_FALSE(verify_consistency(m, log.root(m - 1), size, root, proof)) << "another beginning";
      EXPECT_FALSE(verify_consistency(m, log.root(m), size, log.root(size - 1), proof)) << "another end";
      EXPECT_FALSE(verify_consistency(size, root, m, log.root(m), proof)) << "the end is gone";
    }
  }
}

TEST(MerkleProof, OfNothingBeforeHasToBeOfNothing) {
  const MerkleLog log = log_of(3);
  EXPECT_OK(verify_consistency(0, merkle_empty_root(), 3, log.root(), {}));
  EXPECT_ERROR(verify_consistency(0, log.root(1), 3, log.root(), {}), ErrorCode::data_loss, "");
  EXPECT_ERROR(verify_consistency(0, merkle_empty_root(), 3, log.root(), Proof(1)), ErrorCode::data_loss, "");
  EXPECT_ERROR(verify_consistency(3, log.root(), 2, log.root(2), {}), ErrorCode::data_loss, "its end is gone");
}

// From outside: nothing crashes, nothing is shown.
TEST(MerkleProof, OfAnyBytesShowsNothing) {
  Prng prng(23);
  const MerkleLog log = log_of(9);
  for (int i = 0; i < 20'000; ++i) {
    Proof proof(prng.below(70));
    for (Digest& digest : proof) digest.bytes[prng.below(32)] = static_cast<uint8_t>(prng.below(256));
    const uint64_t index = prng.chance(0.2) ? UINT64_MAX - prng.below(3) : prng.below(12);
    const uint64_t size = prng.chance(0.2) ? UINT64_MAX - prng.below(3) : prng.below(12);
    EXPECT_FALSE(verify_inclusion(numbered_leaf(3), index, size, proof, log.root()));
    if (index > 0 && index != size) EXPECT_FALSE(verify_consistency(index, log.root(4), size, log.root(), proof));
  }
}

}  // namespace
}  // namespace coterie
