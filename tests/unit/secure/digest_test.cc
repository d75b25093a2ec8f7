#include "secure/crypto/digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "secure/crypto/sha256.h"

namespace coterie {
namespace {

constexpr size_t kBatch = 64 * kDigestLeafBytes;

Bytes patterned(size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * i * 7 + i * 31 + 7);
  return bytes;
}

// RFC 9162 section 2.1.1, word for word: the left subtree has the largest power of two of leaves below n.
Digest tree_hash(ByteView blob) {
  const size_t leaves = (blob.size() + kDigestLeafBytes - 1) / kDigestLeafBytes;
  if (leaves == 0) return sha256(ByteView{});
  if (leaves == 1) return sha256(0x00, blob);
  size_t left = 1;
  while (left * 2 < leaves) left *= 2;
  const Digest a = tree_hash(blob.first(left * kDigestLeafBytes));
  const Digest b = tree_hash(blob.subspan(left * kDigestLeafBytes));
  Bytes both(a.bytes.begin(), a.bytes.end());
  both.insert(both.end(), b.bytes.begin(), b.bytes.end());
  return sha256(0x01, both);
}

// Computed apart from this code, in Python with hashlib, for bytes((i*i*7 + i*31 + 7) & 255 for i in range(n)):
//   def mth(d):
//     n = -(-len(d) // 4096)
//     if n == 0: return sha256(b"").digest()
//     if n == 1: return sha256(b"\0" + d).digest()
//     k = 1
//     while k * 2 < n: k *= 2
//     return sha256(b"\1" + mth(d[:k * 4096]) + mth(d[k * 4096:])).digest()
TEST(ContentDigest, GivesTheAnswersOfAnIndependentProgram) {
  const std::pair<size_t, const char*> answers[] = {
      {0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {1, "2ecd8a6b7d2845546659ad4cf443533cf921b19dc81fa83934e83821b4dfdcb7"},
      {4095, "4e99711540c01f04698bf3c25572ffc40fd9979aafc06d32e821b3663c28cd61"},
      {4096, "f5a7225ed839a22d4167944257b4add51be4394764e1993b94b4f2cb5cff35ea"},
      {4097, "767399a5fb3c9037d5ebe0529f9ecd177933c75e010d097653d4e38f0a34fcb4"},
      {12293, "95837c0ae2fed8d94d06db8da3a9aae5b42f35b5ddd909c51c82c355f96ae470"},
      {262144, "55b85709d9ccc4e57ec6d60b47206dd95861ab386c0ad406a27be6c0ee478bba"},
      {262145, "b36f1d1c7e0af2ad6a7c608161fe501b6b2206f30614e9b147d85438da0b5189"},
      {819977, "173f399de06ac167b6181f79e2d2db6920c8878c40e3037f2068c178fe06f565"}};
  for (const auto& [size, hex] : answers) EXPECT_EQ(content_digest(patterned(size)).hex(), hex) << size << " bytes";
}

TEST(ContentDigest, IsTheTreeHashOfRfc9162ForEveryShapeOfTree) {
  const size_t leaf = kDigestLeafBytes;
  std::vector<size_t> sizes = {0, 1, 2, leaf - 1, leaf, leaf + 1, 2 * leaf - 1, 2 * leaf};
  for (size_t leaves = 3; leaves <= 9; ++leaves) sizes.push_back(leaves * leaf - 17);
  for (size_t batches = 1; batches <= 5; ++batches) {
    for (const size_t tail : {size_t{0}, size_t{1}, leaf, 3 * leaf + 5, 63 * leaf, kBatch - 1}) {
      sizes.push_back(batches * kBatch + tail);
    }
  }
  const Bytes bytes = patterned(6 * kBatch);
  for (size_t size : sizes) {
    const ByteView blob = ByteView(bytes).first(size);
    EXPECT_EQ(content_digest(blob), tree_hash(blob)) << size << " bytes";
  }
}

TEST(ContentDigest, IsTheSameInWhateverPiecesTheBytesArrive) {
  const Bytes bytes = patterned(3 * kBatch + 5 * kDigestLeafBytes + 123);
  const Digest whole = content_digest(bytes);
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Prng prng(seed);
    const uint64_t piece_max = 1 + prng.below(seed % 3 == 0 ? 100'000 : seed % 3 == 1 ? 5'000 : 2 * kBatch);
    ContentDigester digester;
    for (ByteView rest = bytes; !rest.empty();) {
      const size_t piece = std::min<size_t>(rest.size(), prng.below(piece_max + 1));  // sometimes nothing
      digester.update(rest.first(piece));
      rest = rest.subspan(piece);
    }
    EXPECT_EQ(digester.finish(), whole) << "seed " << seed;
  }
}

TEST(ContentDigest, OfNothingAddedIsThatOfTheEmptyBlob) {
  ContentDigester digester;
  digester.update({});
  EXPECT_EQ(digester.finish(), content_digest({}));
}

// A leaf that looks like a node, or the other way round, must not share a digest (RFC 9162: domain separation).
TEST(ContentDigest, TellsLeavesFromNodes) {
  const Bytes two_leaves = patterned(2 * kDigestLeafBytes);
  const Digest a = sha256(0x00, ByteView(two_leaves).first(kDigestLeafBytes));
  const Digest b = sha256(0x00, ByteView(two_leaves).subspan(kDigestLeafBytes));
  Bytes as_one_leaf(a.bytes.begin(), a.bytes.end());
  as_one_leaf.insert(as_one_leaf.end(), b.bytes.begin(), b.bytes.end());
  EXPECT_NE(content_digest(as_one_leaf), content_digest(two_leaves));
}

TEST(ContentDigest, ChangesWithEveryByte) {
  Bytes bytes = patterned(kBatch + 100);
  const Digest before = content_digest(bytes);
  for (const size_t at : {size_t{0}, size_t{4095}, size_t{4096}, kBatch - 1, kBatch, kBatch + 99}) {
    bytes[at] ^= 1;
    EXPECT_NE(content_digest(bytes), before) << "byte " << at;
    bytes[at] ^= 1;
  }
  bytes.push_back(0);
  EXPECT_NE(content_digest(bytes), before) << "a zero appended";
}

TEST(DeviceIdOf, IsTheFirst16BytesOfTheKeysDigest) {
  const Bytes key = patterned(32);
  EXPECT_EQ(device_id_of(key).hex(), content_digest(key).hex().substr(0, 32));
}

}  // namespace
}  // namespace coterie
