// Integers that are moved one at a time to where a quadratic form is least.
#include "tools/model/integer_descent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace coterie {
namespace {

using testing::ElementsAre;

double left_over(const IntegerProblem& problem, float scale, const std::vector<int16_t>& q) {
  const size_t n = q.size();
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      sum += (problem.target[i] - static_cast<double>(scale) * q[i]) * problem.matrix[i * n + j] *
             (problem.target[j] - static_cast<double>(scale) * q[j]);
    }
  }
  return sum;
}

// By hand: at (1, 1) both are .4 too much, which costs .16 * (1 + 1 + 1.8) = .608. With the first at 0 it costs
// .36 + .16 - 1.8 * .24 = .088, and neither has a better place then.
TEST(IntegerDescent, MovesWhatOthersCanMakeUpFor) {
  const std::vector<double> matrix = {1, .9, .9, 1}, target = {.6, .6};
  const IntegerProblem problem{.matrix = matrix, .target = target, .bits = 4};
  std::vector<int16_t> integers = {1, 1};
  EXPECT_NEAR(descend(problem, 1, integers), .088, 1e-12);
  EXPECT_THAT(integers, ElementsAre(0, 1));
  EXPECT_NEAR(descend(problem, 1, integers), .088, 1e-12) << "and stays there";
  EXPECT_THAT(integers, ElementsAre(0, 1));
}

TEST(IntegerDescent, StaysWithinTheBits) {
  const std::vector<double> matrix = {1, 0, 0, 1}, target = {9, -.2};
  std::vector<int16_t> integers = {0, 0};
  descend({.matrix = matrix, .target = target, .bits = 2}, 1, integers);
  EXPECT_THAT(integers, ElementsAre(1, 0));
  integers = {-1, 1};
  descend({.matrix = matrix, .target = target, .bits = 1}, 1, integers);
  EXPECT_THAT(integers, ElementsAre(1, -1)) << "one bit has no 0";
}

// By hand: of |(1, 2) - s (1, 1)|^2 the least is at s = 3 / 2.
TEST(IntegerDescent, FitsTheScale) {
  const std::vector<double> matrix = {1, 0, 0, 1}, target = {1, 2};
  const IntegerProblem problem{.matrix = matrix, .target = target, .bits = 4};
  EXPECT_FLOAT_EQ(fitted_scale(problem, std::vector<int16_t>{1, 1}), 1.5f);
  EXPECT_EQ(fitted_scale(problem, std::vector<int16_t>{-1, -1}), 0) << "only a negative one would do";
  EXPECT_EQ(fitted_scale(problem, std::vector<int16_t>{0, 0}), 0);
}

// From anywhere: never up, to where no integer of all 3^5 choices has a better place by itself.
TEST(IntegerDescent, EndsWhereNoneHasABetterPlace) {
  constexpr size_t kRows = 5;
  Prng prng(7);
  double found = 0, start = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<double> matrix(kRows * kRows), target(kRows);
    for (int sample = 0; sample < 8; ++sample) {
      std::vector<double> x(kRows);
      const double common = prng.uniform(-1, 1);
      for (double& each : x) each = common + prng.uniform(-.6, .6);
      for (size_t i = 0; i < kRows * kRows; ++i) matrix[i] += x[i / kRows] * x[i % kRows];
    }
    for (double& each : target) each = prng.uniform(-1.2, 1.2);
    const IntegerProblem problem{.matrix = matrix, .target = target, .bits = 2};
    constexpr float kScale = .8f;
    std::vector<int16_t> integers(kRows);
    for (int16_t& each : integers) each = static_cast<int16_t>(static_cast<int>(prng.below(3)) - 1);
    const double before = left_over(problem, kScale, integers), told = descend(problem, kScale, integers);
    const double after = left_over(problem, kScale, integers);
    EXPECT_NEAR(told, after, 1e-9 * (1 + after));
    EXPECT_LE(after, before * (1 + 1e-9));
    for (int code = 0; code < 243; ++code) {
      std::vector<int16_t> other;
      for (int rest = code; other.size() < kRows; rest /= 3) other.push_back(static_cast<int16_t>(rest % 3 - 1));
      const double cost = left_over(problem, kScale, other);
      size_t differ = 0;
      for (size_t i = 0; i < kRows; ++i) differ += other[i] != integers[i] ? 1u : 0u;
      if (differ != 1) continue;
      EXPECT_GE(cost, after * (1 - 1e-9)) << round;
    }
    found += after, start += before;
  }
  EXPECT_LT(found, start / 3);
}

}  // namespace
}  // namespace coterie
