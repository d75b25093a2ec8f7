#include "device_sdk/agent/largest_values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "proto/codec/update/sparse_values.h"

namespace coterie {
namespace {

using Values = std::vector<float>;

TEST(LargestValues, AreThoseOfLargestMagnitudeAndOfEqualOnesTheFirst) {
  Values values = {1, -3, 2, 0, 2, -2, 0.5f};
  const LargestValues largest = take_largest({.sent_count = 3, .bits = kTopKFloatBits}, values);
  EXPECT_EQ(largest.indices, (std::vector<uint32_t>{1, 2, 4}));
  EXPECT_EQ(values, (Values{0, -3, 2, 0, 2, 0, 0}));
  EXPECT_TRUE(largest.levels.empty());
  EXPECT_EQ(largest.scale, 0);
}

TEST(LargestValues, AreAllWhereAllAreSentAndSomeWhereAllAreZero) {
  Values values = {0, 0, -0.0f, 0};
  EXPECT_EQ(take_largest({.sent_count = 2, .bits = 8}, values).indices, (std::vector<uint32_t>{0, 1}));
  Values few = {4, 1};
  EXPECT_EQ(take_largest({.sent_count = 2, .bits = kTopKFloatBits}, few).indices, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(few, (Values{4, 1}));
}

// Against a sort of all, at every count.
TEST(LargestValues, LeaveNothingLargerBehind) {
  Prng prng(3);
  Values all(200);
  for (float& value : all) value = std::round(static_cast<float>(4 * prng.normal()));  // many are equal
  for (uint64_t sent = 1; sent <= all.size(); ++sent) {
    Values values = all;
    const LargestValues largest = take_largest({.sent_count = sent, .bits = kTopKFloatBits}, values);
    ASSERT_EQ(largest.indices.size(), sent);
    float least_sent = 1e9f, most_left = 0;
    size_t next = 0;
    for (uint32_t i = 0; i < all.size(); ++i) {
      const bool is_sent = next < sent && largest.indices[next] == i;
      if (is_sent) ++next;
      (is_sent ? least_sent : most_left) =
          is_sent ? std::min(least_sent, std::abs(all[i])) : std::max(most_left, std::abs(all[i]));
      ASSERT_EQ(values[i], is_sent ? all[i] : 0);
    }
    ASSERT_EQ(next, sent) << "they rise";
    ASSERT_GE(least_sent, most_left);
  }
}

// What the server makes of a level is what the device takes for sent; the largest stays within the plan's bound.
TEST(LargestValues, OfFewBitsAreTheNearestLevels) {
  Prng prng(5);
  for (const uint32_t bits : {2u, 4u, 8u, 16u}) {
    Values all(500);
    for (float& value : all) value = static_cast<float>(prng.normal());
    all[77] = -64;
    Values values = all;
    const LargestValues largest = take_largest({.sent_count = 50, .bits = bits}, values);
    ASSERT_EQ(largest.levels.size(), 50u);
    const int32_t reach = level_reach(bits);
    for (size_t i = 0; i < largest.indices.size(); ++i) {
      const uint32_t index = largest.indices[i];
      ASSERT_LE(largest.levels[i], 2 * reach) << "the one above is no level";
      ASSERT_EQ(values[index], largest.scale * static_cast<float>(largest.levels[i] - reach));
      ASSERT_NEAR(values[index], all[index], largest.scale * 0.5001f);
      ASSERT_LE(std::abs(values[index]), 64);
    }
  }
}

}  // namespace
}  // namespace coterie
