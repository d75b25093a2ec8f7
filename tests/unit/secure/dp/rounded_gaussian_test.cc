// A vector of discrete Gaussians is normal noise that was rounded: its account against sums over all outcomes.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "secure/dp/account/account.h"
#include "secure/dp/account/exact_gaussian.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

double weight(double x, double sigma) { return std::exp(-x * x / (2 * sigma * sigma)); }

// P(k) of the discrete Gaussian for k from -reach to reach.
std::vector<double> pmf(double sigma, int reach) {
  std::vector<double> mass;
  double total = 0;
  for (int k = -reach; k <= reach; ++k) total += mass.emplace_back(weight(k, sigma));
  for (double& m : mass) m /= total;
  return mass;
}

// The delta of one release of two values that a person moves by (a, b): the sum of max(0, P - e^epsilon Q).
double delta_of_pair(double sigma, int a, int b, double epsilon) {
  const int reach = static_cast<int>(std::ceil(14 * sigma)) + 8;
  const std::vector<double> mass = pmf(sigma, reach);
  const auto at = [&](int k) { return std::abs(k) > reach ? 0 : mass[static_cast<size_t>(k + reach)]; };
  double delta = 0;
  for (int x = -reach; x <= reach; ++x) {
    for (int y = -reach; y <= reach; ++y) {
      delta += std::max(0.0, at(x - a) * at(y - b) - std::exp(epsilon) * at(x) * at(y));
    }
  }
  return delta;
}

double exact_epsilon(double sigma, double l2, double delta) {
  const auto account = account_for({{DiscreteGaussianNoise{sigma, l2, false}}}, delta);
  EXPECT_OK(account);
  return account->exact.epsilon.value();
}

TEST(RoundedGaussian, IsNeverBelowTheTruth) {
  for (const double sigma : {2.1, 2.5, 3.0, 5.0, 8.0}) {
    for (const auto& [a, b] : {std::pair{1, 0}, {1, 1}, {2, 1}, {5, 3}}) {
      for (const double delta : {1e-3, 1e-6, 1e-9}) {
        const double epsilon = exact_epsilon(sigma, std::hypot(a, b), delta);
        EXPECT_LE(delta_of_pair(sigma, a, b, epsilon), delta) << sigma << " (" << a << ", " << b << ") " << delta;
      }
    }
  }
}

TEST(RoundedGaussian, IsNearTheTruthOnAFineGrid) {
  const double epsilon = exact_epsilon(20, std::hypot(16, 9), 1e-6);
  EXPECT_GT(delta_of_pair(20, 16, 9, epsilon * 0.985), 1e-6) << "1.5 % less is too little";
}

// As the server's noise is: 512 steps of the grid and more.
TEST(RoundedGaussian, CostsWhatNormalNoiseCosts) {
  const auto account = account_for({{DiscreteGaussianNoise{5 * 512, 512, false}, Sampling::none(), 200}}, 1e-8);
  ASSERT_OK(account);
  EXPECT_EQ(account->method, "exact");
  const double normal = gaussian_epsilon(std::sqrt(200.0) / 5, 1e-8);
  EXPECT_GE(account->epsilon, normal);
  EXPECT_LE(account->epsilon, normal * 1.00001);
  EXPECT_GT(account->rdp.epsilon.value(), normal * 1.03) << "what it was before";
  EXPECT_NEAR(account->pld.epsilon.value(), normal, normal * 1e-3);
}

TEST(RoundedGaussian, IsNothingOnACoarseGrid) {
  EXPECT_FALSE(rounded_gaussian_precision(DiscreteGaussianNoise{2, 1, false}));
  EXPECT_FALSE(rounded_gaussian_precision(DiscreteGaussianNoise{100, 1, true})) << "has its exact law";
  EXPECT_FALSE(rounded_gaussian_precision(GaussianNoise{1}));
  EXPECT_OK(account_for({{DiscreteGaussianNoise{2, 1, false}}}, 1e-6)) << "RDP has a bound still";
}

// What the argument stands on: around whatever number it is centred, the sum of a discrete Gaussian's weights is the
// same but for 2e-34, so that normal noise rounded by it is in proportion to the discrete Gaussian.
TEST(RoundedGaussian, RoundsAlikeAroundEveryNumber) {
  const double rounding = std::sqrt(kRounded);
  for (double centre = 0; centre < 1; centre += 0.01) {
    double sum = 0;
    for (int k = -40; k <= 40; ++k) sum += weight(k - centre, rounding);
    EXPECT_NEAR(sum, rounding * std::sqrt(2 * std::numbers::pi), 1e-14) << centre;
  }
}

}  // namespace
}  // namespace coterie
