#include "secure/dp/account/pld.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "secure/dp/account/exact_gaussian.h"
#include "secure/dp/account/log_math.h"

namespace coterie {
namespace {

Sampling poisson(double rate) { return Sampling::assume_poisson(rate, "a test").value(); }

double pld(const Noise& noise, const Sampling& sampling, uint64_t steps, double delta) {
  return pld_epsilon({{noise, sampling, steps}}, delta).value();
}

// Discrete Laplace noise on a count says one of two things, so the exact total loss of `steps` is binomial: `high` with
// probability p under what is observed. Nothing is cut, rounded or transformed.
double exact_binary_epsilon(double p_high, double loss_high, double loss_low, int steps, double delta) {
  const auto delta_at = [&](double epsilon) {
    double sum = 0;
    for (int k = 0; k <= steps; ++k) {
      const double loss = k * loss_high + (steps - k) * loss_low;
      if (loss <= epsilon) continue;
      const double log_mass = std::lgamma(steps + 1.0) - std::lgamma(k + 1.0) - std::lgamma(steps - k + 1.0) +
                              k * std::log(p_high) + (steps - k) * std::log1p(-p_high);
      sum += std::exp(log_mass) * -std::expm1(epsilon - loss);
    }
    return sum;
  };
  double low = 0;
  double high = steps * std::max(loss_high, loss_low);
  if (delta_at(0) <= delta) return 0;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (delta_at(middle) > delta ? low : high) = middle;
  }
  return high;
}

struct BinaryRow {
  double scale, rate;
  int steps;
  double delta;
};

TEST(Pld, IsTheExactValueOfBinaryReleasesFromAbove) {
  for (const BinaryRow& row : {BinaryRow{2, 1, 1, 1e-6},
                               {2, 1, 20, 1e-6},
                               {5, 1, 200, 1e-3},
                               {10, 1, 1000, 1e-9},
                               {1, 0.1, 100, 1e-5},
                               {0.5, 0.01, 1000, 1e-7},
                               {2, 0.3, 50, 0.05},
                               {3, 0.5, 400, 1e-25}}) {
    const double share = 1 / (1 + std::exp(-1 / row.scale));  // of the likelier of the two
    const double other = 1 - share;
    const double q = row.rate;
    const double mixed_high = (1 - q) * other + q * share;
    const double mixed_low = 1 - mixed_high;
    const double leaves = exact_binary_epsilon(mixed_high, std::log(mixed_high / other), std::log(mixed_low / share),
                                               row.steps, row.delta);
    const double joins =
        exact_binary_epsilon(share, std::log(share / mixed_low), std::log(other / mixed_high), row.steps, row.delta);
    const double exact = std::max(leaves, joins);
    const double actual = pld(DiscreteLaplaceNoise{row.scale, 1}, q < 1 ? poisson(q) : Sampling::none(),
                              static_cast<uint64_t>(row.steps), row.delta);
    EXPECT_GE(actual, exact * (1 - 1e-12)) << row.scale << " " << row.rate << " " << row.steps;
    EXPECT_LE(actual, exact + 5e-4) << row.scale << " " << row.rate << " " << row.steps;
  }
}

TEST(Pld, IsTheExactValueOfGaussianReleasesFromAbove) {
  for (const double z : {0.05, 0.3, 1.0, 7.0, 300.0}) {
    for (const double delta : {0.3, 1e-5, 1e-12, 1e-30}) {
      const double exact = gaussian_epsilon(1 / z, delta);
      const double actual = pld(GaussianNoise{z}, Sampling::none(), 1, delta);
      EXPECT_GE(actual, exact) << z << " " << delta;
      EXPECT_LE(actual, exact * 1.0002 + 5e-4) << z << " " << delta;
    }
  }
}

// Two Laplace releases, with a loss that has a density and atoms: delta by integration of the exact laws.
TEST(Pld, AddsUpDifferentReleases) {
  const double one = pld(GaussianNoise{2}, Sampling::none(), 3, 1e-6);
  const double more =
      pld_epsilon({{GaussianNoise{2}, Sampling::none(), 3}, {LaplaceNoise{10}, Sampling::none(), 2}}, 1e-6).value();
  EXPECT_GT(more, one);
  EXPECT_LT(more, one + 0.2 + 1e-9);  // as if the Laplace releases were of pure epsilon 1/10 each
  const double parted =
      pld_epsilon({{GaussianNoise{2}, poisson(0.2), 5}, {GaussianNoise{2}, poisson(0.2), 7}}, 1e-6).value();
  EXPECT_NEAR(parted, pld(GaussianNoise{2}, poisson(0.2), 12, 1e-6), 2e-4);
}

TEST(Pld, GrowsWithStepsAndRateAndFallsWithNoiseAndDelta) {
  const auto at = [](double z, double rate, uint64_t steps, double delta) {
    return pld(GaussianNoise{z}, poisson(rate), steps, delta);
  };
  const double middle = at(1.1, 0.02, 200, 1e-6);
  EXPECT_LT(at(1.1, 0.02, 190, 1e-6), middle);
  EXPECT_LT(at(1.1, 0.019, 200, 1e-6), middle);
  EXPECT_LT(at(1.15, 0.02, 200, 1e-6), middle);
  EXPECT_LT(at(1.1, 0.02, 200, 1.2e-6), middle);
  EXPECT_LT(middle, pld(GaussianNoise{1.1}, Sampling::none(), 200, 1e-6));
}

TEST(Pld, IsZeroWhereNothingIsLearned) {
  EXPECT_EQ(pld(GaussianNoise{1e6}, Sampling::none(), 1, 1e-3), 0);
  EXPECT_EQ(pld(GaussianNoise{1e4}, poisson(1e-6), 10, 0.1), 0);
}

TEST(Pld, IsANumberAtTheLimits) {
  struct Row {
    double z, rate;
    uint64_t steps;
    double delta;
  };
  for (const Row& row : {Row{0.01, 0.999, 1, 1e-30}, {1e6, 1e-9, 1, 0.5}}) {
    const double epsilon = pld(GaussianNoise{row.z}, poisson(row.rate), row.steps, row.delta);
    EXPECT_TRUE(std::isfinite(epsilon) && epsilon >= 0)
        << row.z << " " << row.rate << " " << row.steps << " " << row.delta;
  }
}

// A few large losses among very many small ones decide: a rounding error of the transform, to the power of the steps,
// was 9 % of epsilon here. What is expected is where a contour integral of the moment generating function, E e^(s L)
// in long doubles, has this delta.
TEST(Pld, IsNearWhereFewLargeLossesDecide) {
  if (std::numeric_limits<long double>::digits == std::numeric_limits<double>::digits) {
    GTEST_SKIP() << "SKIPPED: a long double is a double here";
  }
  const double large = pld(GaussianNoise{0.6}, poisson(1e-5), 1'000'000, 1e-10);
  EXPECT_GE(large, 1.0773);
  EXPECT_LE(large, 1.0773 * 1.002);
  const double small = pld(GaussianNoise{0.6}, poisson(1e-5), 250'000, 1e-10);
  EXPECT_GE(small, 0.858);
  EXPECT_LE(small, 0.858 * 1.002);
}

TEST(Pld, SaysWhatItHasNoDistributionOf) {
  const auto message = [](const Releases& releases) {
    const Result<double> epsilon = pld_epsilon({releases}, 1e-6);
    EXPECT_FALSE(epsilon);
    return epsilon ? std::string() : epsilon.error().message();
  };
  EXPECT_NE(message({SkellamNoise{}}).find("Skellam"), std::string::npos);
  EXPECT_NE(message({DiscreteGaussianNoise{2, 1, false}}).find("vector"), std::string::npos);
  EXPECT_NE(message({DistributedGaussianNoise{}}).find("sum of discrete Gaussians"), std::string::npos);
  EXPECT_NE(
      message({GaussianNoise{}, Sampling::assume_without_replacement(1, 10, "a test").value(), 1}).find("replacement"),
      std::string::npos);
  const Result<double> fine = pld_epsilon({{DiscreteGaussianNoise{1e6, 1e3, true}}}, 1e-6);
  ASSERT_FALSE(fine);
  EXPECT_EQ(fine.error().code(), ErrorCode::too_large);
}

}  // namespace
}  // namespace coterie
