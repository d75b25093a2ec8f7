#include "tools/compare/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/statistics/student_t.h"
#include "tools/compare/rank_area.h"

namespace coterie {
namespace {

TEST(Statistics, QuantilesAreStudents) {
  EXPECT_DOUBLE_EQ(student_t(1), 12.706);
  EXPECT_DOUBLE_EQ(student_t(30), 2.042);
  // From a table of the distribution.
  EXPECT_NEAR(student_t(31), 2.0395, 2e-4);
  EXPECT_NEAR(student_t(60), 2.0003, 2e-4);
  EXPECT_NEAR(student_t(1'000'000), 1.959966, 1e-5);
  for (size_t degrees = 1; degrees < 200; ++degrees) EXPECT_GT(student_t(degrees), student_t(degrees + 1)) << degrees;
}

// By hand: mean 3, squares 10, deviation sqrt(2.5), of the mean sqrt(.5), times t(4) = 2.776.
TEST(Statistics, AMeanHasItsInterval) {
  const std::vector<double> values = {1, 2, 3, 4, 5};
  const MeanInterval interval = mean_interval(values);
  EXPECT_DOUBLE_EQ(interval.mean, 3);
  EXPECT_EQ(interval.count, 5u);
  EXPECT_NEAR(*interval.half_width, 2.776 * std::sqrt(0.5), 1e-12);
}

TEST(Statistics, OneValueHasNone) {
  const std::vector<double> one = {0.5};
  EXPECT_DOUBLE_EQ(mean_interval(one).mean, 0.5);
  EXPECT_FALSE(mean_interval(one).half_width);
}

// What the seeds have in common is not in the difference.
TEST(Statistics, DifferencesArePairedBySeed) {
  const std::map<uint64_t, double> a = {{1, 0.1}, {2, 0.5}, {3, 0.9}, {4, 0}};
  const std::map<uint64_t, double> b = {{1, 0.2}, {2, 0.6}, {3, 1.0}, {9, 7}};
  const auto difference = paired_difference(a, b);
  ASSERT_TRUE(difference);
  EXPECT_NEAR(difference->mean, 0.1, 1e-12);
  EXPECT_NEAR(*difference->half_width, 0, 1e-12);
  EXPECT_EQ(difference->count, 3u);
  EXPECT_FALSE(paired_difference(a, {{5, 1.0}}));
}

// 81 of 263 is Newcombe's example (1998, table I); the others are the formula by hand.
TEST(Statistics, AShareHasWilsonsInterval) {
  const ShareInterval known = wilson_interval({81, 263});
  EXPECT_NEAR(known.low, 0.2553, 1e-4);
  EXPECT_NEAR(known.high, 0.3662, 1e-4);
  const ShareInterval half = wilson_interval({10, 20});
  EXPECT_NEAR(half.low, 0.2993, 1e-4);
  EXPECT_NEAR(half.high, 0.7007, 1e-4);
  const ShareInterval none = wilson_interval({0, 10});
  EXPECT_DOUBLE_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 0.2775, 1e-4);
  EXPECT_NEAR(wilson_interval({10, 10}).low, 1 - none.high, 1e-12);
  EXPECT_FALSE((SeenShare{0, 0}.value()));
  EXPECT_DOUBLE_EQ(wilson_interval({0, 0}).high, 1);
}

// 56 of 70 and 48 of 80 is Newcombe's example (1998, table II): 0.0524 to 0.3339.
TEST(Statistics, ADifferenceOfSharesHasNewcombesInterval) {
  const ShareInterval known = difference_interval({56, 70}, {48, 80});
  EXPECT_NEAR(known.low, 0.0524, 1e-4);
  EXPECT_NEAR(known.high, 0.3339, 1e-4);
  EXPECT_DOUBLE_EQ(difference_interval({0, 0}, {1, 2}).high, 1);
}

// By hand: of the pairs of {3, 1} and {2, 0, 1} the first is higher in 3 and in 1, and one is a tie.
TEST(RankArea, CountsPairsAndHasDeLongsInterval) {
  const RankArea some = *rank_area({3, 1}, {2, 0, 1});
  EXPECT_DOUBLE_EQ(some.area, 4.5 / 6);
  // Placements 1 and 1/2: variance 1/8, by 2; 1/2, 1 and 3/4: variance 1/16, by 3.
  EXPECT_NEAR(some.low, 0.75 - 1.959964 * std::sqrt(1.0 / 16 + 1.0 / 48), 1e-6);
  EXPECT_DOUBLE_EQ(some.high, 1);
  const RankArea apart = *rank_area({5, 6, 7, INFINITY}, std::vector<double>(10, 1));
  EXPECT_DOUBLE_EQ(apart.area, 1);
  EXPECT_DOUBLE_EQ(apart.low, wilson_interval({4, 4}).low) << "no variance, and yet no certainty";
  EXPECT_DOUBLE_EQ(rank_area({1, 1}, {1})->area, 0.5);
  const RankArea single = *rank_area({2}, {1, 3, 3, 3});
  EXPECT_DOUBLE_EQ(single.area, 0.25);
  EXPECT_DOUBLE_EQ(single.high - single.low, 1) << "of one value nobody knows how far it varies";
  EXPECT_FALSE(rank_area({}, {1}));
}

}  // namespace
}  // namespace coterie
