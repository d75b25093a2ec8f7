// A hundred million draws with a seed of tonight, which is printed: COTERIE_SEED in the environment repeats one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "base/random.h"
#include "secure/crypto/random.h"
#include "secure/dp/noise/noise_sampler.h"
#include "tests/unit/secure/dp/counter_source.h"
#include "tests/unit/secure/dp/noise_statistics.h"

namespace coterie::test {
namespace {

constexpr size_t kPart = 1'000'000;
constexpr size_t kParts = 100;

uint64_t seed_of_tonight() {
  const char* given = std::getenv("COTERIE_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : random_u64();
  std::cout << "COTERIE_SEED=" << seed << std::endl;
  return seed;
}

Verdict examine_sampler(NoiseKind kind, double variance, NoiseWord word, uint64_t seed, Magnitudes expected) {
  const NoiseSampler sampler = *NoiseSampler::make(kind, variance, word);
  const CounterSource source(seed);
  Examination examination(std::move(expected));
  std::vector<int32_t> noise(kPart);
  for (size_t part = 0; part < kParts; ++part) {
    sampler.draw(source, part * kPart, noise);
    examination.add(noise);
  }
  return examination.verdict();
}

TEST(NoiseNightly, SkellamDrawsAreSkellam) {
  const uint64_t seed = seed_of_tonight();
  for (const double variance : {2.0, 64.0, 1600.0}) {
    for (const NoiseWord word : {NoiseWord::bits64, NoiseWord::bits128}) {
      const Verdict v = examine_sampler(NoiseKind::skellam, variance, word, seed, skellam_magnitudes(variance));
      EXPECT_LT(v.largest(), kVerdictLimit) << variance;
    }
  }
}

TEST(NoiseNightly, DiscreteGaussianDrawsAreDiscreteGaussian) {
  const uint64_t seed = seed_of_tonight();
  for (const double variance : {1.0, 64.0, 1600.0}) {
    const Verdict v =
        examine_sampler(NoiseKind::discrete_gaussian, variance, NoiseWord::bits64, seed, gaussian_magnitudes(variance));
    EXPECT_LT(v.largest(), kVerdictLimit) << variance;
  }
}

TEST(NoiseNightly, ASigmaThatIsWrongByAThousandthIsSeen) {
  const uint64_t seed = seed_of_tonight();
  const Verdict v =
      examine_sampler(NoiseKind::skellam, 64 * 1.001 * 1.001, NoiseWord::bits64, seed, skellam_magnitudes(64));
  EXPECT_GT(v.largest(), kVerdictLimit);
}

// At sigma 8 what rounding adds to the variance is one part in 770.
TEST(NoiseNightly, RoundedFloatsOfBoxAndMullerAreSeen) {
  Prng prng(seed_of_tonight());
  Examination examination(gaussian_magnitudes(64));
  std::vector<int32_t> noise(kPart);
  for (size_t part = 0; part < kParts; ++part) {
    for (int32_t& x : noise) x = static_cast<int32_t>(std::lround(static_cast<float>(8 * prng.normal())));
    examination.add(noise);
  }
  EXPECT_GT(examination.verdict().largest(), kVerdictLimit);
}

}  // namespace
}  // namespace coterie::test
