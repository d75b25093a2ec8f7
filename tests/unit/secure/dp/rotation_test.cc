#include "secure/dp/encode/rotation.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "secure/crypto/sha256.h"
#include "secure/dp/encode/l2_norm.h"
#include "tests/support/throwing_asserts.h"
#include "tests/unit/secure/dp/counter_source.h"

namespace coterie {
namespace {

const test::CounterSource kSigns(42);

std::vector<float> random_update(size_t count, uint64_t seed) {
  Prng prng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.normal());
  return values;
}

TEST(Rotation, FillsBlocksUpToPowersOfTwo) {
  struct Size {
    size_t count, rotated, smallest;
  };
  for (const Size& s : {Size{0, 0, 16384},
                        {1, 1, 1},
                        {2, 2, 2},
                        {3, 4, 4},
                        {1000, 1024, 1024},
                        {16383, 16384, 16384},
                        {16384, 16384, 16384},
                        {16385, 17408, 1024},
                        {16384 + 1025, 16384 + 2048, 2048},
                        {32767, 32768, 16384},
                        {32768, 32768, 16384},
                        {1 << 20, 1 << 20, 16384}}) {
    EXPECT_EQ(rotated_size(s.count), s.rotated) << s.count;
    EXPECT_EQ(smallest_rotation_block(s.count), s.smallest) << s.count;
    EXPECT_EQ(rotated_size(s.rotated), s.rotated) << s.count;
  }
}

TEST(Rotation, IsTheMatrixOfTheDefinition) {
  for (const size_t size : {1u, 2u, 16u, 64u}) {
    const std::vector<float> before = random_update(size, size);
    std::vector<float> after = before;
    rotate(kSigns, after);
    std::vector<uint8_t> signs((size + 7) / 8);
    kSigns.write(0, signs);
    for (size_t row = 0; row < size; ++row) {
      double sum = 0;
      for (size_t i = 0; i < size; ++i) {
        const bool minus = ((signs[i / 8] >> (i % 8)) & 1) != 0;
        sum += (std::popcount(row & i) % 2 == 0 ? 1.0 : -1.0) * (minus ? -before[i] : before[i]);
      }
      EXPECT_NEAR(after[row], sum / std::sqrt(size), 1e-5) << size << " row " << row;
    }
  }
}

TEST(Rotation, KeepsTheNormAndComesBack) {
  for (const size_t size : {2u, 1024u, 16384u, 16384u + 2048u, 3u * 16384u}) {
    const std::vector<float> before = random_update(size, size);
    std::vector<float> values = before;
    rotate(kSigns, values);
    EXPECT_NE(values, before);
    EXPECT_NEAR(*l2_norm(values) / *l2_norm(before), 1, 14 * 0x1p-23);
    rotate_back(kSigns, values);
    double error = 0;
    for (size_t i = 0; i < size; ++i) error += (values[i] - before[i]) * (values[i] - before[i]);
    EXPECT_LT(std::sqrt(error), *l2_norm(before) * 28 * 0x1p-23) << size;
  }
}

TEST(Rotation, SpreadsOneCoordinateOverItsBlockAlone) {
  std::vector<float> values(2 * kRotationBlock);
  values[kRotationBlock + 77] = 128;
  rotate(kSigns, values);
  for (size_t i = 0; i < kRotationBlock; ++i) ASSERT_EQ(values[i], 0);
  for (size_t i = kRotationBlock; i < values.size(); ++i) ASSERT_EQ(std::fabs(values[i]), 1);
}

TEST(Rotation, OfASumIsTheSumOfRotations) {
  std::vector<float> a = random_update(1024, 1), b = random_update(1024, 2), sum(1024);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = a[i] + b[i];
  for (auto* values : {&a, &b, &sum}) rotate(kSigns, *values);
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], a[i] + b[i], 1e-5);
}

// Whatever machine and compiler.
TEST(Rotation, GivesTheseBits) {
  std::vector<float> values(16384 + 1024);
  Prng prng(5);
  for (float& value : values) value = static_cast<float>(static_cast<int32_t>(prng.below(20001)) - 10000) / 4096;
  rotate(kSigns, values);
  const Digest digest = sha256({reinterpret_cast<const uint8_t*>(values.data()), 4 * values.size()});
  EXPECT_EQ(digest.hex(), "609495bac586835bd18a7b275bb7014c86c92060df5667a5f2be293c27549e72");
}

TEST(Rotation, TakesWholeBlocks) {
  const test::ThrowingAsserts guard;
  std::vector<float> values(3);
  EXPECT_THROW(rotate(kSigns, values), AssertionFailure);
  EXPECT_THROW(rotate_back(kSigns, values), AssertionFailure);
}

}  // namespace
}  // namespace coterie
