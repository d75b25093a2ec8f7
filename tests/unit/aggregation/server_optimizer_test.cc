#include "aggregation/optimizer/server_optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "tests/support/throwing_asserts.h"

namespace coterie {
namespace {

std::vector<float> random_values(size_t count, uint64_t seed, double scale = 1) {
  Prng prng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.normal() * scale);
  return values;
}

TEST(FedAvg, MovesTheWeightsByTheMean) {
  std::vector<float> weights = {1, 2, -3};
  apply_fedavg(std::vector<float>{0.5f, 0, -1}, 2, weights);
  EXPECT_EQ(weights, (std::vector<float>{2, 2, -5}));
}

// The formula of Reddi et al. 2021, algorithm 2, in double; float keeps within a few units of its last place a round.
TEST(FedAdam, FollowsTheFormulaOverManyRounds) {
  constexpr size_t kCount = 200;
  constexpr FedAdamSettings kSettings{.beta1 = 0.9f, .beta2 = 0.99f, .tau = 1e-3f};
  constexpr float kEta = 0.05f;
  std::vector<float> weights = random_values(kCount, 1), first(kCount), second(kCount);
  std::vector<double> w(weights.begin(), weights.end()), m(kCount), v(kCount);
  for (uint64_t round = 0; round < 50; ++round) {
    const std::vector<float> mean = random_values(kCount, 100 + round, 0.1);
    apply_fedadam(mean, kEta, kSettings, weights, first, second);
    for (size_t i = 0; i < kCount; ++i) {
      const double g = mean[i], b1 = kSettings.beta1, b2 = kSettings.beta2;
      m[i] = b1 * m[i] + (1 - b1) * g;
      v[i] = b2 * v[i] + (1 - b2) * g * g;
      w[i] += static_cast<double>(kEta) * m[i] / (std::sqrt(v[i]) + static_cast<double>(kSettings.tau));
    }
  }
  for (size_t i = 0; i < kCount; ++i) {
    EXPECT_NEAR(weights[i], w[i], 1e-4) << i;
    EXPECT_NEAR(first[i], m[i], 1e-6) << i;
    EXPECT_NEAR(second[i], v[i], 1e-7) << i;
  }
}

// The finalizer moves a model tile by tile: the bits must not depend on where it is cut.
TEST(ServerOptimizers, GiveTheSameBitsInTilesOfAnySize) {
  constexpr size_t kCount = 1'000;
  const std::vector<float> mean = random_values(kCount, 3), start = random_values(kCount, 4);
  std::vector<float> whole = start, first(kCount, 0.1f), second(kCount, 0.2f);
  apply_fedadam(mean, 0.1f, {}, whole, first, second);
  std::vector<float> averaged = start;
  apply_fedavg(mean, 0.7f, averaged);
  for (const size_t tile : {1u, 7u, 64u, 999u}) {
    std::vector<float> pieces = start, f(kCount, 0.1f), s(kCount, 0.2f), averaged_pieces = start;
    for (size_t at = 0; at < kCount; at += tile) {
      const size_t n = std::min(tile, kCount - at);
      const auto cut = [&](std::vector<float>& values) { return std::span(values).subspan(at, n); };
      apply_fedadam(std::span(mean).subspan(at, n), 0.1f, {}, cut(pieces), cut(f), cut(s));
      apply_fedavg(std::span(mean).subspan(at, n), 0.7f, cut(averaged_pieces));
    }
    EXPECT_EQ(pieces, whole) << "tiles of " << tile;
    EXPECT_EQ(f, first);
    EXPECT_EQ(s, second);
    EXPECT_EQ(averaged_pieces, averaged);
  }
}

TEST(ServerOptimizers, InsistOnOneLength) {
  const test::ThrowingAsserts guard;
  std::vector<float> two(2), three(3);
  EXPECT_THROW(apply_fedavg(two, 1, three), AssertionFailure);
  EXPECT_THROW(apply_fedadam(two, 1, {}, two, three, two), AssertionFailure);
  EXPECT_THROW(apply_fedadam(two, 1, {}, two, two, three), AssertionFailure);
  EXPECT_THROW(apply_fedadam(three, 1, {}, two, two, two), AssertionFailure);
}

}  // namespace
}  // namespace coterie
