#include "secure/dp/account/exact_gaussian.h"

#include <gtest/gtest.h>

#include <cmath>

#include "secure/dp/account/log_math.h"

namespace coterie {
namespace {

TEST(ExactGaussian, KnowsDelta) {
  EXPECT_NEAR(gaussian_delta(1, 1), 0.12693673750664392, 1e-15);
  EXPECT_NEAR(gaussian_delta(1 / 2.0, 0.5), 0.05244032328766951, 1e-15);
  EXPECT_NEAR(gaussian_delta(1 / 0.8, 3), 0.012979294297252128, 1e-15);
}

TEST(ExactGaussian, KnowsEpsilon) {
  EXPECT_NEAR(gaussian_epsilon(1, 0.12693673750664392), 1, 1e-9);
  EXPECT_NEAR(gaussian_epsilon(1 / 2.0, 0.05244032328766951), 0.5, 1e-9);
  EXPECT_NEAR(gaussian_epsilon(1 / 0.8, 0.012979294297252128), 3, 1e-9);
}

TEST(ExactGaussian, InvertsItselfFromAbove) {
  for (const double mu : {1e-4, 0.01, 0.3, 1.0, 4.0, 50.0, 1000.0}) {
    for (const double delta : {0.4, 1e-3, 1e-8, 1e-15, 1e-30}) {
      const double epsilon = gaussian_epsilon(mu, delta);
      EXPECT_LE(gaussian_delta(mu, epsilon), delta * (1 + 1e-12)) << mu << " " << delta;
      if (epsilon > 0) EXPECT_GE(gaussian_delta(mu, epsilon * (1 - 1e-9)), delta) << mu << " " << delta;
    }
  }
}

TEST(ExactGaussian, FallsWithEpsilonWithoutAStepWhereItsFormulaChanges) {
  const double mu = 3;
  double before = 1;
  for (double epsilon = 0; epsilon < 60; epsilon += 1.0 / 64) {  // near = -1 is at epsilon 1.5
    const double delta = gaussian_delta(mu, epsilon);
    EXPECT_LT(delta, before);
    EXPECT_GT(delta, 0);
    before = delta;
  }
}

TEST(LogMath, HasTheTailsOfTheNormalLaw) {
  // Mills ratio and log Phi, 20 digits.
  EXPECT_NEAR(mills_ratio(0), 1.2533141373155002512, 1e-15);
  EXPECT_NEAR(mills_ratio(10), 0.099028596471731921395, 1e-14);
  EXPECT_NEAR(log_normal_cdf(-10), -53.231285159999999, 1e-3);
  // Both formulas where one takes over.
  EXPECT_NEAR(mills_ratio(25 - 1e-9) / mills_ratio(25 + 1e-9), 1, 1e-9);
  EXPECT_NEAR(log_normal_cdf(-25 + 1e-9) - log_normal_cdf(-25 - 1e-9), 2e-9 * 25, 1e-10);
  EXPECT_TRUE(std::isfinite(log_normal_cdf(-1e6)));
  EXPECT_EQ(log_add(-kInfinity, -kInfinity), -kInfinity);
  EXPECT_EQ(log_add(kInfinity, 3), kInfinity);
  EXPECT_NEAR(log_choose(1024, 512), 1024 * std::log(2) - 0.5 * std::log(M_PI * 512), 1e-3);
}

}  // namespace
}  // namespace coterie
