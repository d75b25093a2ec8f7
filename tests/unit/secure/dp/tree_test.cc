#include "secure/dp/account/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "secure/dp/account/account.h"
#include "secure/dp/account/zcdp.h"

namespace coterie {
namespace {

struct Row {
  uint64_t steps, separation;
  double noise_multiplier, squared, rho;
};

// Kairouz et al. 2021, Algorithm 4; the last five are the test points of github.com/google-parfait/federated-compute.
const Row kRows[] = {{16, 16, 1, 5, 2.5},
                     {16, 4, 1, 36, 18},
                     {100, 100, 2, 7, 0.875},
                     {1000, 250, 5, 47, 0.94},
                     {2000, 400, 7, 60, 0.612245},
                     {2048, 128, 7, 608, 6.204082},
                     {4096, 1024, 6.1, 68, 0.913733},
                     {4, 2, 1, 8, 4.0},
                     {4, 2, 2, 8, 1.0},
                     {5, 2, 1, 9, 4.5},
                     {7, 2, 1, 11, 5.5},
                     {7, 3, 1, 9, 4.5}};

TEST(Tree, MeetsTheReference) {
  for (const Row& row : kRows) {
    const TreeSchedule schedule{row.steps, row.separation, Participation::periodic};
    EXPECT_EQ(tree_squared_sensitivity(schedule).value(), row.squared) << row.steps << " " << row.separation;
    EXPECT_NEAR(tree_rho(schedule, row.noise_multiplier).value(), row.rho, 1e-6);
  }
}

// The sum over the done nodes of the square of how many of `steps` (ascending, from 0) are below them.
double squared_of(const std::vector<uint64_t>& steps, uint64_t all) {
  double sum = 0;
  for (uint64_t size = 1; size <= all; size *= 2) {
    for (uint64_t begin = 0; begin + size <= all; begin += size) {
      const auto inside = std::ranges::count_if(steps, [&](uint64_t s) { return s >= begin && s < begin + size; });
      sum += static_cast<double>(inside * inside);
    }
  }
  return sum;
}

// The worst of all ways to take part.
double worst_of_all(uint64_t all, uint64_t separation, std::vector<uint64_t>& steps) {
  double worst = squared_of(steps, all);
  for (uint64_t next = steps.empty() ? 0 : steps.back() + separation; next < all; ++next) {
    steps.push_back(next);
    worst = std::max(worst, worst_of_all(all, separation, steps));
    steps.pop_back();
  }
  return worst;
}

TEST(Tree, BoundsEveryWayToTakePart) {
  for (uint64_t all = 1; all <= 17; ++all) {
    for (uint64_t separation = 1; separation <= all + 1; ++separation) {
      if (all > 12 && separation < 3) continue;  // too many ways
      std::vector<uint64_t> steps;
      const double worst = worst_of_all(all, separation, steps);
      const double separated = tree_squared_sensitivity({all, separation, Participation::separated}).value();
      const double periodic = tree_squared_sensitivity({all, separation, Participation::periodic}).value();
      EXPECT_GE(separated, worst) << all << " " << separation;
      EXPECT_LE(periodic, worst) << all << " " << separation;
      EXPECT_LE(separated, 1.5 * worst) << all << " " << separation;
    }
  }
}

TEST(Tree, IsLittleAboveThePeriodicOneInLongTrees) {
  for (const Row& row : kRows) {
    const double separated = tree_squared_sensitivity({row.steps, row.separation, Participation::separated}).value();
    EXPECT_GE(separated, row.squared);
    if (row.steps >= 1000) EXPECT_LE(separated, 1.1 * row.squared) << row.steps;
  }
}

TEST(Tree, OfASingleEpochMeetsTheReference) {
  EXPECT_NEAR(zcdp_epsilon(single_epoch_tree_rho(1024, 2).value(), 1e-6).epsilon, 9.355390, 1e-5);
  EXPECT_NEAR(zcdp_epsilon(single_epoch_tree_rho(2000, 4).value(), 1e-6).epsilon, 4.229541, 5e-6);
  EXPECT_NEAR(zcdp_epsilon(single_epoch_tree_rho(4096, 7).value(), 1e-10).epsilon, 3.349522, 4e-6);
}

// A tree as the accountants have it against a Gaussian release of the same squared ratio, and without sampling alone.
TEST(Tree, IsOneGaussianRelease) {
  for (const Row& row : kRows) {
    const TreeNoise tree =
        tree_noise({row.steps, row.separation, Participation::periodic}, row.noise_multiplier).value();
    const PrivacyAccount account = account_for({Releases{tree}}, 1e-6).value();
    const GaussianNoise normal{row.noise_multiplier / std::sqrt(row.squared)};
    const PrivacyAccount same = account_for({Releases{normal}}, 1e-6).value();
    EXPECT_NEAR(account.epsilon, same.epsilon, 1e-9 * same.epsilon);
    EXPECT_NEAR(account.rdp.epsilon.value(), same.rdp.epsilon.value(), 1e-9 * same.epsilon);
    EXPECT_NEAR(account.pld.epsilon.value(), same.pld.epsilon.value(), 1e-4 * same.epsilon);  // of a grid
    EXPECT_NEAR(account.rho.value(), row.rho, 1e-6);
    EXPECT_EQ(account.method, "exact");
  }
  Releases sampled{tree_noise({16, 4, Participation::separated}, 1).value()};
  sampled.sampling = Sampling::assume_poisson(0.1, "a test").value();
  EXPECT_FALSE(check_composition({sampled}));
  EXPECT_FALSE(tree_noise({16, 0, Participation::separated}, 1));
  EXPECT_FALSE(check_composition({Releases{tree_noise({16, 4, Participation::separated}, 0.001).value()}}));
}

TEST(Tree, RefusesWhatIsOutOfItsLimits) {
  EXPECT_FALSE(tree_rho({0, 1, Participation::separated}, 1));
  EXPECT_FALSE(tree_rho({1, 0, Participation::periodic}, 1));
  EXPECT_FALSE(tree_rho({(1u << 20) + 1, 1, Participation::separated}, 1));
  EXPECT_FALSE(tree_rho({10, 2, Participation::separated}, 0));
  EXPECT_FALSE(single_epoch_tree_rho(0, 1));
  EXPECT_FALSE(single_epoch_tree_rho(10, std::nan("")));
}

}  // namespace
}  // namespace coterie
