#include "proto/codec/update/sparse_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/random.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

constexpr float kScale = 0.5f;

Bytes packed(const SparseShape& shape, const std::vector<uint32_t>& indices, const std::vector<float>& values,
             const std::vector<uint16_t>& levels = {}) {
  Bytes bytes(sparse_bytes(shape).value());
  pack_sparse(shape, indices, values, levels, bytes);
  return bytes;
}

// Any choice of values, of every density.
TEST(SparseValues, ComeBackAsTheyWere) {
  Prng prng(7);
  for (const uint32_t bits : {2u, 3u, 8u, 16u, 32u}) {
    for (int turn = 0; turn < 60; ++turn) {
      const uint64_t count = 1 + prng.below(turn < 20 ? 40 : 3000), sent = 1 + prng.below(count);
      const SparseShape shape{.value_count = count, .sent_count = sent, .bits = bits};
      std::vector<uint32_t> indices(count);
      for (uint32_t i = 0; i < count; ++i) indices[i] = i;
      for (uint64_t i = 0; i < sent; ++i) std::swap(indices[i], indices[i + prng.below(count - i)]);
      indices.resize(sent);
      std::ranges::sort(indices);
      std::vector<float> values(count);
      std::vector<uint16_t> levels;
      for (const uint32_t index : indices) {
        if (bits == 32) {
          values[index] = static_cast<float>(prng.normal());
        } else {
          levels.push_back(static_cast<uint16_t>(prng.below((1u << bits) - 1)));
          values[index] = kScale * static_cast<float>(static_cast<int32_t>(levels.back()) - level_reach(bits));
        }
      }
      std::vector<float> back(count, 9);
      ASSERT_OK(unpack_sparse(packed(shape, indices, values, levels), shape, kScale, back));
      ASSERT_EQ(back, values) << count << " values, " << sent << " sent, " << bits << " bits";
    }
  }
}

// A plan says how long its updates are; an index takes some 2 + log2(1 / share) bits.
TEST(SparseValues, TakeAsManyBytesAsTheirShapeSays) {
  const uint64_t tenth = *sparse_bytes({.value_count = 100'000, .sent_count = 10'000, .bits = 32});
  EXPECT_EQ(tenth, 40'000u + 10'000 * 3 / 8 + (10'000 + 99'999 / 8 + 7) / 8);
  EXPECT_EQ(sparse_bytes({.value_count = 1, .sent_count = 1, .bits = 32}), 4u + 0 + 1);
  const auto none = [](uint64_t values, uint64_t sent, uint32_t bits) {
    return !sparse_bytes({.value_count = values, .sent_count = sent, .bits = bits});
  };
  for (const uint32_t bits : {0u, 1u, 17u, 31u, 33u}) EXPECT_TRUE(none(10, 1, bits)) << bits;
  EXPECT_TRUE(none(10, 0, 32));
  EXPECT_TRUE(none(10, 11, 32));
  EXPECT_TRUE(none(0, 0, 32));
  EXPECT_TRUE(none((1ull << 32) + 1, 1ull << 31, 32));
  EXPECT_TRUE(none(65'536, 1, 32));
  EXPECT_FALSE(none(65'535, 1, 32));
  EXPECT_FALSE(none(1ull << 32, 1ull << 32, 32));
}

// Indices 1, 7 and 19 of 20: two low bits each, and high parts 0, 1 and 4 in the first byte behind them.
class HostileIndices : public testing::Test {
 protected:
  static constexpr SparseShape kShape{.value_count = 20, .sent_count = 3, .bits = 32};

  void SetUp() override {
    std::vector<float> values(20);
    values[1] = 1, values[7] = 2, values[19] = 3;
    good_ = packed(kShape, {1, 7, 19}, values);
    ASSERT_EQ(good_.size(), 14u);
    ASSERT_EQ(good_[12], 0x3d);
    ASSERT_EQ(good_[13], 0x45);
  }
  Status unpacked(uint8_t low, uint8_t high, const SparseShape& shape = kShape) {
    Bytes changed = good_;
    changed[12] = low;
    changed[13] = high;
    std::vector<float> values(shape.value_count);
    return unpack_sparse(changed, shape, 0, values);
  }

  Bytes good_;
};

TEST_F(HostileIndices, AreRefusedByName) {
  EXPECT_OK(unpacked(0x3d, 0x45));
  EXPECT_ERROR(unpacked(0x35, 0x46), ErrorCode::malformed, "do not rise, at 5") << "5 twice";
  EXPECT_ERROR(unpacked(0x37, 0x46), ErrorCode::malformed, "do not rise, at 5") << "7, then 5";
  EXPECT_ERROR(unpacked(0x3d, 0x45, {.value_count = 19, .sent_count = 3, .bits = 32}), ErrorCode::malformed,
               "the index of no value, 19");
  EXPECT_ERROR(unpacked(0x24, 0x47), ErrorCode::malformed, "more indices") << "0, 1, 2 and one more";
  EXPECT_ERROR(unpacked(0x3d, 0x05), ErrorCode::malformed, "has 2 indices, the plan says 3");
  EXPECT_ERROR(unpacked(0x3d, 0x00), ErrorCode::malformed, "has 0 indices");
  EXPECT_ERROR(unpacked(0x3d, 0x85), ErrorCode::malformed, "more indices") << "a bit behind the last";
  EXPECT_ERROR(unpacked(0x7d, 0x45), ErrorCode::malformed, "behind the last index");
}

TEST_F(HostileIndices, AreNotReadFromPayloadsOfAnotherSize) {
  std::vector<float> values(20);
  for (const size_t size : {0u, 13u, 15u, 80u}) {
    EXPECT_ERROR(unpack_sparse(Bytes(size), kShape, 0, values), ErrorCode::malformed, "need 14 bytes");
  }
}

// Three levels of 3 bits: 0, 3 and 6 are -3, 0 and 3 steps, and 7 is none.
TEST(SparseValues, RefusesALevelThatIsNone) {
  const SparseShape shape{.value_count = 20, .sent_count = 3, .bits = 3};
  Bytes bytes = packed(shape, {1, 7, 19}, {}, {0, 3, 6});
  std::vector<float> values(20);
  ASSERT_OK(unpack_sparse(bytes, shape, kScale, values));
  EXPECT_EQ(values[1], -1.5f);
  EXPECT_EQ(values[7], 0);
  EXPECT_EQ(values[19], 1.5f);
  ASSERT_EQ(bytes[0], 0x98);
  bytes[0] = 0x9f;
  EXPECT_ERROR(unpack_sparse(bytes, shape, kScale, values), ErrorCode::malformed, "level that is none, 7");
  bytes[0] = 0x98;
  bytes[1] |= 0x80;
  EXPECT_ERROR(unpack_sparse(bytes, shape, kScale, values), ErrorCode::malformed, "behind the last value");
}

}  // namespace
}  // namespace coterie
