#include "device_sdk/watch/tensor_statistics.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace coterie::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

TEST(TensorStatistics, OfFiniteValues) {
  const TensorStatistics of = statistics_of(std::vector<float>{1, -4, 0, 3, -0.0f, 4});
  EXPECT_EQ(of.count, 6u);
  EXPECT_TRUE(of.is_finite());
  EXPECT_EQ(of.min, -4);
  EXPECT_EQ(of.max, 4);
  EXPECT_EQ(of.zeros, 2u);
  EXPECT_EQ(of.largest, 1u) << "the first of the largest magnitude";
  EXPECT_DOUBLE_EQ(of.mean(), 4.0 / 6);
  EXPECT_DOUBLE_EQ(of.magnitude_mean(), 12.0 / 6);
}

TEST(TensorStatistics, WhatIsNotFiniteIsCountedAndLeftOutOfTheOthers) {
  const TensorStatistics of = statistics_of(std::vector<float>{2, kInf, kNan, -kInf, -2, kNan});
  EXPECT_EQ(of.nan, 2u);
  EXPECT_EQ(of.positive_infinite, 1u);
  EXPECT_EQ(of.negative_infinite, 1u);
  EXPECT_EQ(of.first_non_finite, 1u);
  EXPECT_EQ(of.min, -2);
  EXPECT_EQ(of.max, 2);
  EXPECT_EQ(of.mean(), 0);
  EXPECT_EQ(of.magnitude_mean(), 2);
}

TEST(TensorStatistics, OfNothingAndOfNothingFinite) {
  for (const std::vector<float>& values : {std::vector<float>{}, std::vector<float>{kNan, kInf}}) {
    const TensorStatistics of = statistics_of(values);
    EXPECT_EQ(of.finite(), 0u);
    EXPECT_EQ(of.min, 0);
    EXPECT_EQ(of.max, 0);
    EXPECT_EQ(of.mean(), 0);
    EXPECT_EQ(of.largest, TensorStatistics::kNowhere);
  }
}

TEST(TensorStatistics, OfOtherTypes) {
  const std::vector<uint16_t> halves = {0x3f80, 0xc000, 0x7f80, 0x7fc0};  // 1, -2, infinity, NaN
  const TensorStatistics of = statistics_of(ElementType::bfloat16, halves.data(), halves.size());
  EXPECT_EQ(of.min, -2);
  EXPECT_EQ(of.max, 1);
  EXPECT_EQ(of.positive_infinite, 1u);
  EXPECT_EQ(of.nan, 1u);
  const std::vector<double> doubles = {1e300, -1};
  EXPECT_EQ(statistics_of(ElementType::float64, doubles.data(), 2).max, 1e300);
  const std::vector<int32_t> ints = {-1};  // the bits of a NaN
  EXPECT_TRUE(statistics_of(ElementType::int32, ints.data(), 1).is_finite());
}

}  // namespace
}  // namespace coterie::test
