#include "tools/compare_tensors/tensor_difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tools/compare_tensors/parameter_notes.h"

namespace coterie::test {
namespace {

using Values = std::vector<float>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

// The figures of the formulas, computed with NumPy in double of the same decimals.
TEST(TensorDifference, TenMetricsAreThoseOfTheFormulas) {
  const Values a = {1.691f, -0.466f, 0.033f, 0.408f, -0.789f, 0.002f};
  const Values b = {1.708f, -0.488f, 0.044f, 0.418f, -0.803f, 0};
  const TensorDifference of = difference_of(a, b, 1e-4);
  EXPECT_NEAR(of.cosine, 0.9999464022, 1e-9);
  EXPECT_NEAR(of.absolute_max, 0.022, 1e-7);
  EXPECT_NEAR(of.relative_sum, 0.3463931940, 1e-6);
  EXPECT_NEAR(of.euclidean, 0.0173273075, 1e-7);
  EXPECT_NEAR(of.divergence, 6.6048e-05, 1e-8);
  EXPECT_NEAR(of.mean_a, 0.1465, 1e-7);
  EXPECT_NEAR(of.deviation_a, 0.7892973131, 1e-7);
  EXPECT_NEAR(of.mean_b, 0.1465, 1e-7);
  EXPECT_NEAR(of.deviation_b, 0.8008436697, 1e-7);
  EXPECT_NEAR(of.absolute_mean, 0.0126666667, 1e-8);
  EXPECT_NEAR(of.root_mean_square, 0.0141067360, 1e-8);
  EXPECT_NEAR(of.relative_max, 0.25, 1e-6);
  EXPECT_NEAR(of.relative_mean, 0.0577321987, 1e-7);
  EXPECT_EQ(of.worst, 1u);
  EXPECT_EQ(of.outside, 6u);
}

TEST(TensorDifference, OfZeros) {
  EXPECT_EQ(difference_of(Values{0, 0}, Values{0, 0}, 1e-4).cosine, 1);
  EXPECT_TRUE(difference_of(Values{0, 0}, Values{0, 0}, 1e-4).is_same_bits);
  const TensorDifference one = difference_of(Values{0, 1}, Values{0, 0}, 1e-4);
  EXPECT_EQ(one.cosine, 0);
  EXPECT_EQ(one.euclidean, 0) << "of no reference";
  EXPECT_EQ(one.relative_max, 0);
  EXPECT_EQ(one.scaled_max, 1);
  EXPECT_EQ(one.outside, 1u);
  EXPECT_EQ(difference_of(Values{}, Values{}, 1e-4).count, 0u);
}

TEST(TensorDifference, BothSidesOfTheTolerance) {
  const Values reference = {8, 1};
  EXPECT_EQ(difference_of(Values{8, 1 + 7.0f / 1024}, reference, 1.0 / 1024).outside, 0u);
  EXPECT_EQ(difference_of(Values{8, 1 + 8.0f / 1024}, reference, 1.0 / 1024).outside, 0u) << "the limit itself agrees";
  const TensorDifference outside = difference_of(Values{8, 1 + 9.0f / 1024}, reference, 1.0 / 1024);
  EXPECT_EQ(outside.outside, 1u);
  EXPECT_EQ(outside.first_outside, 1u);
}

TEST(TensorDifference, WhatIsFiniteInOneAloneIsApart) {
  const TensorDifference same = difference_of(Values{kNan, kInf, -kInf, 1}, Values{kNan, kInf, -kInf, 1}, 1e-4);
  EXPECT_EQ(same.non_finite_apart, 0u);
  EXPECT_EQ(same.outside, 0u);
  EXPECT_EQ(difference_of(Values{1, kNan}, Values{1, 2}, 1e-4).non_finite_apart, 1u);
  EXPECT_EQ(difference_of(Values{1, kInf}, Values{1, -kInf}, 1e-4).non_finite_apart, 1u);
  EXPECT_EQ(difference_of(Values{1, kInf}, Values{1, 2}, 1e-4).first_outside, 1u);
}

TEST(TensorPicture, CountsEachPairOnce) {
  const TensorPicture picture = picture_of(Values{0, 1, 2, kNan}, Values{2, 1, 0, 0});
  uint32_t cells = 0, bins = 0;
  for (const uint32_t count : picture.cells) cells += count;
  for (const uint32_t count : picture.bins_a) bins += count;
  EXPECT_EQ(cells, 3u);
  EXPECT_EQ(bins, 3u);
  EXPECT_EQ(picture.cells[TensorPicture::kCells - 1], 1u) << "the least of a, the largest of b";
  EXPECT_EQ(picture.high, 2);
}

TEST(WeightNote, SaysWhatIsWrong) {
  const Values a = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(weight_note(a, {2, 3}, a, {2, 3}, 1e-4), "");
  EXPECT_EQ(weight_note(a, {2, 3}, Values{1, 4, 2, 5, 3, 6}, {3, 2}, 1e-4), "transposed");
  EXPECT_EQ(weight_note(Values{1, 2, 3, 4}, {2, 2}, Values{1, 3, 2, 4}, {2, 2}, 1e-4), "transposed");
  EXPECT_EQ(weight_note(a, {2, 3}, Values{3, 2, 1, 6, 5, 4}, {2, 3}, 1e-4), "its channels are in another order");
  EXPECT_EQ(weight_note(a, {2, 3}, Values{1, 2, 3, 4, 5, 7}, {2, 3}, 1e-4), "off by 0.143 of the largest value");
  EXPECT_EQ(weight_note(a, {2, 3}, a, {6}, 1e-4), "of another shape: 2x3, 6");
}

}  // namespace
}  // namespace coterie::test
