#include "secure/dp/noise/noise_sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "secure/dp/noise/key_stream_source.h"
#include "tests/support/matchers.h"
#include "tests/unit/secure/dp/counter_source.h"

namespace coterie {
namespace {

using test::CounterSource;
using test::fails_with;

std::vector<int32_t> draw(const NoiseSampler& sampler, const ByteSource& source, uint64_t first, size_t count) {
  std::vector<int32_t> noise(count);
  sampler.draw(source, first, noise);
  return noise;
}

TEST(NoiseSampler, ACoordinateHasTheSameNoiseHoweverTheVectorIsCut) {
  const CounterSource source(1);
  for (const NoiseWord word : {NoiseWord::bits64, NoiseWord::bits128}) {
    const NoiseSampler sampler = *NoiseSampler::make(NoiseKind::skellam, 64, word);
    const std::vector<int32_t> whole = draw(sampler, source, 0, 3000);
    for (const size_t cut : {1u, 31u, 512u, 513u, 2999u}) {
      std::vector<int32_t> pieces = draw(sampler, source, 0, cut);
      const std::vector<int32_t> rest = draw(sampler, source, cut, whole.size() - cut);
      pieces.insert(pieces.end(), rest.begin(), rest.end());
      EXPECT_EQ(pieces, whole) << "cut at " << cut;
    }
  }
}

TEST(NoiseSampler, AddsToLanesOfEveryWidthModuloTheirWidth) {
  const CounterSource source(2);
  const NoiseSampler sampler = *NoiseSampler::make(NoiseKind::discrete_gaussian, 1600, NoiseWord::bits64);
  const std::vector<int32_t> noise = draw(sampler, source, 5, 1000);
  std::vector<uint16_t> lanes16(1000, 65530);
  std::vector<uint32_t> lanes32(1000, 0xfffffff0u);
  std::vector<uint64_t> lanes64(1000, 7);
  sampler.add_to(source, 5, lanes16);
  sampler.add_to(source, 5, lanes32);
  sampler.add_to(source, 5, lanes64);
  for (size_t i = 0; i < noise.size(); ++i) {
    EXPECT_EQ(lanes16[i], static_cast<uint16_t>(65530 + noise[i]));
    EXPECT_EQ(lanes32[i], 0xfffffff0u + static_cast<uint32_t>(noise[i]));
    EXPECT_EQ(static_cast<int64_t>(lanes64[i]), 7 + noise[i]);
  }
}

TEST(NoiseSampler, TwoSeedsShareNoPrefix) {
  const NoiseSampler sampler = *NoiseSampler::make(NoiseKind::skellam, 64, NoiseWord::bits64);
  std::vector<std::vector<int32_t>> prefixes;
  for (uint8_t seed = 0; seed < 200; ++seed) {
    Secret<32> key;
    key.mutable_bytes()[0] = seed;
    const KeyStreamSource source(*KeyStream::make(CipherSuite::aes256_ctr, key));
    prefixes.push_back(draw(sampler, source, 0, 16));
  }
  std::sort(prefixes.begin(), prefixes.end());
  EXPECT_EQ(std::adjacent_find(prefixes.begin(), prefixes.end()), prefixes.end());
}

TEST(NoiseSampler, TakesWiderWordsForMoreDraws) {
  EXPECT_EQ(NoiseSampler::make(NoiseKind::skellam, 4, kDrawsOf64BitsMax)->bytes_per_draw(), 8u);
  EXPECT_EQ(NoiseSampler::make(NoiseKind::skellam, 4, kDrawsOf64BitsMax + 1)->bytes_per_draw(), 16u);
}

// 10^7 coordinates x 10^3 clients x 10^3 rounds, as in the largest case of the design.
TEST(NoiseSampler, ChargesToDeltaWhatItsRoundingCosts) {
  const uint64_t draws = 10'000'000'000'000;
  const NoiseSampler sampler = *NoiseSampler::make(NoiseKind::skellam, 64, draws);
  EXPECT_LT(sampler.delta_error(draws, 8), 1e-18);
  EXPECT_GE(sampler.delta_error(1, 0), 2 * sampler.table().total_variation);
  EXPECT_GE(sampler.delta_error(1000, 2), 1000 * (1 + std::exp(2)) * sampler.table().total_variation);
  EXPECT_EQ(sampler.delta_error(0, 1), 0);
}

TEST(NoiseSampler, RefusesAVarianceOutsideItsRange) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, 0.0024, 1048577.0, infinity, -infinity, std::nan("")}) {
    EXPECT_TRUE(fails_with(NoiseSampler::make(NoiseKind::skellam, bad, uint64_t{1}), ErrorCode::invalid_argument,
                           "the variance must be in [0.002500, 1048576.000000]"));
  }
  for (const double good : {kNoiseVarianceMin, kNoiseVarianceMax}) {
    for (const NoiseKind kind : {NoiseKind::skellam, NoiseKind::discrete_gaussian}) {
      EXPECT_TRUE(test::is_ok(NoiseSampler::make(kind, good, uint64_t{1})));
    }
  }
}

}  // namespace
}  // namespace coterie
