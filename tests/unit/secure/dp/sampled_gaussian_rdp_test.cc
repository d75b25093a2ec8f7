#include "secure/dp/account/sampled_gaussian_rdp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "secure/dp/account/rdp_curve.h"
#include "tests/unit/secure/dp/published_series.h"

namespace coterie {
namespace {

double poisson(double rate, double sigma, double order) {
  return poisson_gaussian_rdp(rate, sigma, std::vector{order}).front();
}

TEST(PoissonGaussianRdp, IsExactAtWholeOrders) {
  struct Row {
    double rate, sigma, order, rdp;
  };
  // 40 digits.
  for (const Row& row : {Row{.01, 1, 2, 1.71813422074548e-4},
                         {.01, 1, 8, 8.93643907606032e-4},
                         {.01, 1, 32, 11.2462759370481},
                         {.001, .8, 16, 5.13172777302123},
                         {.1, 2, 5, 7.73696848979586e-3},
                         {.5, 5, 64, 0.66339328189197}}) {
    EXPECT_NEAR(poisson(row.rate, row.sigma, row.order) / row.rdp, 1, 1e-12) << row.order;
  }
}

TEST(PoissonGaussianRdp, IsTheSumOfThePublishedSeriesBetweenThem) {
  for (const double rate : {0.5, 0.1, 0.01, 0.001}) {
    for (const double sigma : {0.4, 0.8, 1.0, 2.0, 5.0}) {
      for (const double order : {1.5, 2.5, 4.6, 7.8, 10.9}) {
        // The series' terms cancel down to the excess over 1.
        const double series = published_rdp(rate, sigma, order, true) * (order - 1);
        EXPECT_NEAR(poisson(rate, sigma, order) * (order - 1), series, 5e-9 * series + 1e-13)
            << rate << " " << sigma << " " << order;
      }
    }
  }
}

TEST(PoissonGaussianRdp, HasOrdersWhoseSeriesDoesNotConverge) {
  for (const double order : {1.1, 1.2, 1.5}) {
    const double value = poisson(0.1, 1, order);
    EXPECT_GT(value, 0);
    EXPECT_LT(value, poisson(0.1, 1, 2));
  }
}

TEST(PoissonGaussianRdp, IsBoundedByTheChordWhereTheIntegralIsTooSharp) {
  const double order = 2.5;
  const double above = poisson(0.01, kSigmaOfIntegral, order);
  const double below = poisson(0.01, kSigmaOfIntegral * 0.999, order);
  EXPECT_GE(below, above * 0.999);
  EXPECT_LE(below, order / (2 * kSigmaOfIntegral * kSigmaOfIntegral * 0.998));
  // Convexity of (order - 1) RDP, from which the chord takes its right, where the integral is.
  const double low = poisson(0.01, 1, 2);
  const double high = poisson(0.01, 1, 3) * 2;
  EXPECT_LE(poisson(0.01, 1, order) * (order - 1), (low + high) / 2);
}

TEST(PoissonGaussianRdp, GrowsWithOrderAndRateAndFallsWithNoise) {
  double before = 0;
  for (const double order : default_orders()) {
    const double value = poisson(0.02, 0.9, order);
    EXPECT_TRUE(std::isfinite(value));
    EXPECT_GE(value, before * (1 - 1e-12)) << order;
    EXPECT_LE(value, poisson(0.021, 0.9, order)) << order;
    EXPECT_GE(value, poisson(0.02, 0.91, order)) << order;
    before = value;
  }
}

TEST(PoissonGaussianRdp, IsThatOfNoSamplingAtRateOne) {
  for (const double order : {1.5, 2.0, 33.0}) EXPECT_EQ(poisson(1, 2, order), order / 8);
}

TEST(PoissonGaussianRdp, IsFiniteAtTheLimits) {
  for (const double sigma : {0.01, 0.0999, 0.1, 1e6}) {
    for (const double rate : {1e-9, 0.5, 1 - 1e-12}) {
      for (const double value : poisson_gaussian_rdp(rate, sigma, default_orders())) {
        EXPECT_TRUE(std::isfinite(value) && value >= 0) << rate << " " << sigma;
      }
    }
  }
}

TEST(WithoutReplacementRdp, IsBetweenNothingAndNoSampling) {
  for (const double rate : {1e-6, 0.01, 0.5, 1.0}) {
    for (const double sigma : {0.05, 0.5, 1.0, 20.0}) {
      const std::vector<double> values = without_replacement_gaussian_rdp(rate, sigma, default_orders());
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_GE(values[i], 0);
        EXPECT_LE(values[i], default_orders()[i] / (2 * sigma * sigma));
      }
    }
  }
}

// At order 2 the theorem is 1 + q^2 min(4 (e^(1/sigma^2) - 1), 2 e^(1/sigma^2)).
TEST(WithoutReplacementRdp, IsTheTheoremAtOrderTwo) {
  const double gain = std::min(4 * std::expm1(0.25), 2 * std::exp(0.25));
  EXPECT_NEAR(without_replacement_gaussian_rdp(0.1, 2, std::vector{2.0}).front(), std::log1p(0.01 * gain), 1e-14);
}

}  // namespace
}  // namespace coterie
