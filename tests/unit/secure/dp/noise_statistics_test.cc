// The draws look like their distribution; and draws that are a little wrong do not pass for it. A million draws with a
// fixed seed here; noise_nightly_test.cc takes a hundred times as many with a new one.
#include "tests/unit/secure/dp/noise_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "secure/dp/noise/noise_sampler.h"
#include "tests/unit/secure/dp/counter_source.h"
#include "tests/unit/secure/dp/noise_golden.h"

namespace coterie::test {
namespace {

constexpr size_t kDraws = 1'000'000;

std::vector<int32_t> draw(NoiseKind kind, double variance, NoiseWord word, uint64_t seed, size_t count = kDraws) {
  std::vector<int32_t> noise(count);
  NoiseSampler::make(kind, variance, word)->draw(CounterSource(seed), 0, noise);
  return noise;
}

TEST(NoiseStatistics, TheReferencesAgreeWithTheGoldenTables) {
  for (const double variance : {0.25, 2.0, 64.0, 1600.0}) {
    const Magnitudes golden = golden_magnitudes(NoiseKind::skellam, variance), here = skellam_magnitudes(variance);
    for (size_t k = 0; k < golden.size(); ++k) EXPECT_NEAR(here[k], golden[k], 1e-13) << variance << " k " << k;
  }
  const Magnitudes golden = golden_magnitudes(NoiseKind::discrete_gaussian, 64), here = gaussian_magnitudes(64);
  for (size_t k = 0; k < golden.size(); ++k) EXPECT_NEAR(here[k], golden[k], 1e-13) << k;
}

TEST(NoiseStatistics, SkellamDrawsAreSkellam) {
  for (const double variance : {0.25, 2.0, 64.0, 1600.0}) {
    const NoiseWord word = variance < 10 ? NoiseWord::bits128 : NoiseWord::bits64;
    const Verdict verdict = examine(draw(NoiseKind::skellam, variance, word, 11), skellam_magnitudes(variance));
    EXPECT_LT(verdict.largest(), kVerdictLimit) << variance;
  }
}

TEST(NoiseStatistics, DiscreteGaussianDrawsAreDiscreteGaussian) {
  for (const double variance : {0.25, 1.0, 64.0, 1600.0}) {
    const NoiseWord word = variance < 10 ? NoiseWord::bits64 : NoiseWord::bits128;
    const std::vector<int32_t> draws = draw(NoiseKind::discrete_gaussian, variance, word, 12);
    EXPECT_LT(examine(draws, gaussian_magnitudes(variance)).largest(), kVerdictLimit) << variance;
  }
}

TEST(NoiseStatistics, ASumOfSkellamsIsTheSkellamOfTheSum) {
  constexpr size_t kClients = 16, kSums = 100'000;
  const std::vector<int32_t> parts = draw(NoiseKind::skellam, 4, NoiseWord::bits64, 13, kClients * kSums);
  std::vector<int32_t> sums(kSums);
  for (size_t i = 0; i < parts.size(); ++i) sums[i % kSums] += parts[i];
  EXPECT_LT(examine(sums, skellam_magnitudes(64)).largest(), kVerdictLimit);
  EXPECT_GT(examine(sums, skellam_magnitudes(60)).largest(), kVerdictLimit);
}

// Negative controls.

TEST(NoiseStatistics, AVarianceThatIsWrongByOneIsSeen) {
  for (const double variance : {63.0, 65.0}) {
    const std::vector<int32_t> draws = draw(NoiseKind::skellam, variance, NoiseWord::bits64, 14);
    EXPECT_GT(std::fabs(examine(draws, skellam_magnitudes(64)).variance), kVerdictLimit);
  }
}

TEST(NoiseStatistics, ASigmaThatIsWrongByAHundredthIsSeen) {
  for (const double sigma : {8 * 0.99, 8 * 1.01, 40 * 0.99, 40 * 1.01}) {
    const double meant = sigma < 20 ? 8 : 40;
    const std::vector<int32_t> draws = draw(NoiseKind::skellam, sigma * sigma, NoiseWord::bits64, 15);
    EXPECT_GT(examine(draws, skellam_magnitudes(meant * meant)).largest(), kVerdictLimit) << sigma;
  }
}

TEST(NoiseStatistics, TheOtherDistributionOfTheSameVarianceIsSeen) {
  const std::vector<int32_t> draws = draw(NoiseKind::discrete_gaussian, 4, NoiseWord::bits64, 16);
  EXPECT_GT(examine(draws, skellam_magnitudes(4)).largest(), kVerdictLimit);
}

TEST(NoiseStatistics, RoundedFloatsOfBoxAndMullerAreSeen) {
  Prng prng(17);
  std::vector<int32_t> draws(kDraws);
  for (int32_t& x : draws) x = static_cast<int32_t>(std::lround(static_cast<float>(2 * prng.normal())));
  EXPECT_GT(examine(draws, gaussian_magnitudes(4)).largest(), kVerdictLimit);
}

TEST(NoiseStatistics, ASignASkewAndACorrelationAreSeen) {
  const std::vector<int32_t> good = draw(NoiseKind::skellam, 64, NoiseWord::bits64, 18);
  const Magnitudes expected = skellam_magnitudes(64);
  ASSERT_LT(examine(good, expected).largest(), kVerdictLimit);

  std::vector<int32_t> biased = good;  // every hundredth is never negative
  for (size_t i = 0; i < biased.size(); i += 100) biased[i] = std::abs(biased[i]);
  EXPECT_GT(examine(biased, expected).sign, kVerdictLimit - 2);
  EXPECT_GT(examine(biased, expected).mean, kVerdictLimit);

  std::vector<int32_t> repeated = good;  // a block of random bytes used twice
  for (size_t i = 0; i + 16 < repeated.size(); i += 100) repeated[i + 16] = repeated[i];
  EXPECT_GT(examine(repeated, expected).autocorrelation[15], kVerdictLimit);

  std::vector<int32_t> short_tails = good;
  for (int32_t& x : short_tails) x = std::clamp(x, -31, 31);
  EXPECT_LT(examine(short_tails, expected).beyond_4_sigma, -kVerdictLimit);
}

}  // namespace
}  // namespace coterie::test
