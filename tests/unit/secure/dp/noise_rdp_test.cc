#include "secure/dp/account/noise_rdp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "secure/dp/account/exact_gaussian.h"

namespace coterie {
namespace {

// A Renyi divergence by its definition, of noise on the integers moved by `shift`.
template <typename Weight>
double divergence(Weight weight, int shift, double order) {
  double total = 0;
  double sum = 0;
  for (int k = -2000; k <= 2000; ++k) total += weight(k);
  for (int k = -2000; k <= 2000; ++k) {
    const double p = weight(k - shift) / total;
    const double q = weight(k) / total;
    if (p > 0 && q > 0) sum += std::exp(order * std::log(p) + (1 - order) * std::log(q));
  }
  return std::log(sum) / (order - 1);
}

TEST(NoiseRdp, OfDiscreteLaplaceIsItsDefinition) {
  for (const double scale : {0.7, 2.0, 5.0}) {
    for (const int shift : {1, 3, 8}) {
      for (const double order : {1.1, 2.0, 7.5, 40.0}) {
        const double expected = divergence([&](int k) { return std::exp(-std::abs(k) / scale); }, shift, order);
        const double actual = unsampled_rdp(DiscreteLaplaceNoise{scale, static_cast<double>(shift)}, order);
        EXPECT_NEAR(actual, expected, 1e-9 * expected) << scale << " " << shift << " " << order;
        EXPECT_LE(actual, shift / scale);
      }
    }
  }
}

TEST(NoiseRdp, OfDiscreteGaussianBoundsItsDefinition) {
  for (const double sigma : {0.6, 2.0, 9.0}) {
    for (const double order : {1.5, 4.0, 20.0}) {
      const double expected = divergence([&](int k) { return std::exp(-k * k / (2 * sigma * sigma)); }, 1, order);
      const double actual = unsampled_rdp(DiscreteGaussianNoise{sigma, 1, false}, order);
      EXPECT_GE(actual, expected * (1 - 1e-12));
      EXPECT_LE(actual, expected * 1.01);  // for whole orders they are equal, nearly so between
    }
  }
}

// Skellam weights e^-mu I_k(mu), by convolution of two Poisson laws of mean `variance` / 2.
TEST(NoiseRdp, OfSkellamBoundsItsDefinition) {
  const double mean = 15;
  std::vector<double> poisson = {std::exp(-mean)};
  for (int k = 1; k < 200; ++k) poisson.push_back(poisson.back() * mean / k);
  const auto weight = [&](int k) {
    double sum = 0;
    for (int i = 0; i + std::abs(k) < 200; ++i) {
      sum += poisson[static_cast<size_t>(i)] * poisson[static_cast<size_t>(i + std::abs(k))];
    }
    return sum;
  };
  for (const double order : {1.5, 2.0, 5.0, 10.0}) {
    const double expected = divergence([&](int k) { return std::abs(k) < 150 ? weight(k) : 0; }, 2, order);
    const double actual = unsampled_rdp(SkellamNoise{2 * mean, 2, 2}, order);
    EXPECT_GE(actual, expected) << order;
    EXPECT_LE(actual, 1.2 * expected) << order;
  }
}

TEST(NoiseRdp, OfLaplaceHasTheLimitsOfMironov) {
  const LaplaceNoise noise{0.5};
  EXPECT_NEAR(unsampled_rdp(noise, 1 + 1e-9), 2 + std::expm1(-2), 1e-6);  // the Kullback-Leibler divergence
  EXPECT_NEAR(unsampled_rdp(noise, 1e6), 2, 1e-4);                        // pure epsilon
}

// Sums of rounded vectors: clip C on a grid of 1 / scale, rounding that inflates the sensitivity (arXiv 2102.06387),
// orders 2 to 128 and 256. Own reference computation.
struct DistributedRow {
  double parties, clip, scale, local_sigma, dimensions;
  uint64_t steps;
  double discrete_gaussian, skellam, central;
};

std::vector<double> integer_orders() {
  std::vector<double> orders;
  for (int order = 2; order <= 128; ++order) orders.push_back(order);
  orders.push_back(256);
  return orders;
}

double epsilon_of(const Noise& noise, uint64_t steps) {
  return rdp_of({{noise, Sampling::none(), steps}}, integer_orders()).value().epsilon(1e-6).epsilon;
}

TEST(NoiseRdp, OfDistributedNoiseMeetsTheReference) {
  const double tens = 1 << 10;
  for (const DistributedRow& row : {DistributedRow{1000, 1, 1024, 40, tens * tens, 1, 4.682909, 4.682911, 3.848322},
                                    {1000, 1, 256, 10, 1 << 16, 100, 94.733216, 94.734935, 70.463707},
                                    {100, 1, 64, 8, tens * tens, 1, 54.119216, 54.133873, 3.797417},
                                    {1000, 1, 128, 1, 1 << 16, 10, 354.854964, 343.412256, 141.914301},
                                    {1000, 1, 128, 0.5, 1 << 16, 1, 4.93e6, 145.714080, 70.463707}}) {
    const double norm = row.clip * row.scale;
    const double root = std::sqrt(row.dimensions);
    // beta = e^(-1/2): sqrt(2 log(1 / beta)) = 1
    const double l2 = std::min(norm + root, std::sqrt(norm * norm + row.dimensions / 4 + (norm + root / 2)));
    const double l1 = std::min(l2 * l2, root * l2);
    const auto parties = static_cast<uint64_t>(row.parties);
    const DistributedGaussianNoise gaussians{row.local_sigma, parties, static_cast<uint64_t>(row.dimensions), l1, l2};
    EXPECT_NEAR(epsilon_of(gaussians, row.steps), row.discrete_gaussian,
                (row.local_sigma < 1 ? 1e-3 : 1e-6) * row.discrete_gaussian);
    const SkellamNoise skellam{row.parties * row.local_sigma * row.local_sigma, l1, l2};
    EXPECT_NEAR(epsilon_of(skellam, row.steps), row.skellam, 1e-6 * row.skellam);
    const double mu = norm * std::sqrt(static_cast<double>(row.steps) / row.parties) / row.local_sigma;
    EXPECT_NEAR(gaussian_epsilon(mu, 1e-6), row.central, 1e-6 * row.central);
  }
}

TEST(NoiseRdp, KnowsHowFarASumOfDiscreteGaussiansIsFromOne) {
  EXPECT_NEAR(distributed_gaussian_tau(1, 1000), 5.7e-4, 5e-6);
  EXPECT_NEAR(distributed_gaussian_tau(0.5, 1000), 75, 0.5);
  EXPECT_EQ(distributed_gaussian_tau(1, 1), 0);
  EXPECT_EQ(distributed_gaussian_tau(40, 1'000'000'000), 0);
  const double exact = 10 * [] {
    double sum = 0;
    for (int k = 1; k < 100'000; ++k) sum += std::exp(-2 * M_PI * M_PI * k / (k + 1.0));
    return sum;
  }();
  EXPECT_GE(distributed_gaussian_tau(1, 100'000), exact);
  EXPECT_LE(distributed_gaussian_tau(1, 100'000), exact * 1.0001);
}

TEST(NoiseRdp, AddsUpUnderComposition) {
  const Releases a{GaussianNoise{1.3}, Sampling::assume_poisson(0.02, "a test").value(), 70};
  const Releases b{LaplaceNoise{4}, Sampling::none(), 3};
  const RdpCurve one = rdp_of({a}).value();
  const RdpCurve other = rdp_of({b}).value();
  const RdpCurve both = rdp_of({a, b}).value();
  for (size_t i = 0; i < both.values().size(); ++i) {
    EXPECT_NEAR(both.values()[i], one.values()[i] + other.values()[i], 1e-12 * both.values()[i]);
  }
}

TEST(NoiseRdp, RefusesSampledNoiseThatItHasNoBoundFor) {
  const Result<RdpCurve> curve = rdp_of({{LaplaceNoise{1}, Sampling::assume_poisson(0.1, "a test").value(), 1}});
  ASSERT_FALSE(curve);
  EXPECT_NE(curve.error().message().find("sampled laplace noise"), std::string::npos) << curve.error().message();
}

}  // namespace
}  // namespace coterie
