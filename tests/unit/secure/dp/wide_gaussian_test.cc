#include "secure/dp/noise/wide_gaussian.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/matchers.h"
#include "tests/unit/secure/dp/counter_source.h"

namespace coterie {
namespace {

using test::CounterSource;

std::vector<uint64_t> noise_of(const WideGaussian& noise, uint64_t first, size_t count) {
  std::vector<uint64_t> lanes(count);
  noise.add_to(CounterSource(1), CounterSource(2), first, lanes);
  return lanes;
}

TEST(WideGaussian, TakesTheSigmasItsTablesAllow) {
  for (const double sigma : {512.0, 1000.0, 65536.0}) {
    const Result<WideGaussian> noise = WideGaussian::make(sigma);
    ASSERT_OK(noise);
    EXPECT_EQ(noise->sigma(), sigma);
    EXPECT_LE(noise->total_variation(), WideGaussian::kTotalVariationMax);
    EXPECT_GT(noise->total_variation(), 0);
  }
  for (const double sigma : {511.0, 65537.0, 0.0, std::nan("")}) {
    EXPECT_ERROR(WideGaussian::make(sigma), ErrorCode::invalid_argument, "choose another grid");
  }
}

TEST(WideGaussian, ACoordinateHasTheSameNoiseHoweverTheVectorIsCut) {
  const WideGaussian noise = WideGaussian::make(600).value();
  const std::vector<uint64_t> whole = noise_of(noise, 0, 2000);
  for (const size_t cut : {1u, 511u, 512u, 1999u}) {
    std::vector<uint64_t> pieces = noise_of(noise, 0, cut);
    const std::vector<uint64_t> rest = noise_of(noise, cut, whole.size() - cut);
    pieces.insert(pieces.end(), rest.begin(), rest.end());
    EXPECT_EQ(pieces, whole) << cut;
  }
}

TEST(WideGaussian, AddsToWhatIsThere) {
  const WideGaussian noise = WideGaussian::make(600).value();
  const std::vector<uint64_t> drawn = noise_of(noise, 0, 100);
  std::vector<uint64_t> lanes(100, ~uint64_t{0});
  noise.add_to(CounterSource(1), CounterSource(2), 0, lanes);
  for (size_t i = 0; i < lanes.size(); ++i) EXPECT_EQ(lanes[i], drawn[i] - 1);
}

// Moments, and a chi-square over 64 residues: the grid of steps must not show. z-scores of 2^18 draws with fixed seeds.
TEST(WideGaussian, LooksLikeOneGaussianOnAllIntegers) {
  constexpr double kSigma = 700;
  constexpr size_t kDraws = 1 << 18;
  const std::vector<uint64_t> lanes = noise_of(WideGaussian::make(kSigma).value(), 0, kDraws);
  double sum = 0, squares = 0, fourth = 0, within = 0;
  std::vector<double> residues(64), near_residues(64);
  double near = 0;
  for (const uint64_t lane : lanes) {
    const auto value = static_cast<int64_t>(lane);
    const double x = static_cast<double>(value) / kSigma;
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    within += std::fabs(x) < 1 ? 1 : 0;
    ++residues[static_cast<uint64_t>(value) % 64];
    if (std::llabs(value) < 32) ++near_residues[static_cast<uint64_t>(value + 32)], ++near;
  }
  const double n = kDraws;
  EXPECT_LT(std::fabs(sum / std::sqrt(n)), 5);
  EXPECT_LT(std::fabs((squares - n) / std::sqrt(2 * n)), 5);
  EXPECT_LT(std::fabs((fourth - 3 * n) / std::sqrt(96 * n)), 5);
  const double inside = std::erf(1 / std::sqrt(2));
  EXPECT_LT(std::fabs((within - n * inside) / std::sqrt(n * inside * (1 - inside))), 5);
  double chi = 0;
  for (const double count : residues) chi += (count - n / 64) * (count - n / 64) / (n / 64);
  EXPECT_LT(std::fabs((chi - 63) / std::sqrt(126)), 5) << "multiples of the step show";
  double flat = 0;
  for (size_t i = 1; i < 64; ++i) flat += std::pow(near_residues[i] - near / 63, 2) / (near / 63);
  EXPECT_LT(std::fabs((flat - 62) / std::sqrt(124)), 5) << "a peak of a step's width shows";
}

// The formula in the header against the plain sum over all pairs, for a sigma where that can be done.
TEST(WideGaussian, IsADiscreteGaussianOfTheVarianceItSays) {
  constexpr double kInner = 256, kSigma = 512;
  constexpr int kStep = 64;
  const double outer = std::sqrt(kSigma * kSigma - kInner * kInner) / kStep;
  double inner_mass = 0, outer_mass = 0, mass = 0;
  for (int k = -20000; k <= 20000; ++k) {
    inner_mass += std::exp(-0.5 * k * k / (kInner * kInner));
    outer_mass += std::exp(-0.5 * k * k / (outer * outer));
    mass += std::exp(-0.5 * k * k / (kSigma * kSigma));
  }
  for (const int x : {0, 1, 31, 32, 63, 64, 500, 1500}) {
    double convolved = 0;
    for (int z = -200; z <= 200; ++z) {
      const double y = x - kStep * z;
      convolved += std::exp(-0.5 * z * z / (outer * outer)) * std::exp(-0.5 * y * y / (kInner * kInner));
    }
    const double direct = std::exp(-0.5 * x * x / (kSigma * kSigma)) / mass;
    EXPECT_NEAR(convolved / (inner_mass * outer_mass) / direct, 1, 1e-12) << x;
  }
}

}  // namespace
}  // namespace coterie
