#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/throwing_asserts.h"

namespace coterie {
namespace {

std::vector<uint64_t> take(Prng prng, size_t count) {
  std::vector<uint64_t> values(count);
  for (uint64_t& value : values) value = prng.next();
  return values;
}

// Pearson's statistic of counts that should be equal.
double chi_square(const std::vector<uint64_t>& counts) {
  const double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (uint64_t count : counts)
    sum += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected);
  return sum / expected;
}

// The value that chi-square with this many degrees of freedom exceeds once in a million (Wilson-Hilferty; 4.7534 is
// the normal quantile). Seeds below are fixed, so that a passing test stays passing; the rate says what a failure of a
// changed generator is worth.
double once_in_a_million(size_t degrees) {
  const double d = static_cast<double>(degrees);
  const double root = 1 - 2 / (9 * d) + 4.7534 * std::sqrt(2 / (9 * d));
  return d * root * root * root;
}

// From the authors' C code (prng.di.unimi.it): state 1, 2, 3, 4.
TEST(Prng, IsXoshiro256StarStar) {
  const std::vector<uint64_t> expected = {11520,
                                          0,
                                          1509978240,
                                          1215971899390074240u,
                                          1216172134540287360u,
                                          607988272756665600u,
                                          16172922978634559625u,
                                          8476171486693032832u,
                                          10595114339597558777u,
                                          2904607092377533576u};
  EXPECT_EQ(take(Prng::from_state({1, 2, 3, 4}), 10), expected);
}

// Computed apart from this code, in Python:
//   def split_mix(x): x = x + 0x9e3779b97f4a7c15 & M; z = x; z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & M
//                     z = (z ^ z >> 27) * 0x94d049bb133111eb & M; return x, z ^ z >> 31
//   four words of it are the state; then rotl(s[1] * 5, 7) * 9 and the linear step, all modulo 2^64.
TEST(Prng, IsSeededThroughSplitMix64) {
  EXPECT_EQ(take(Prng(0), 6), (std::vector<uint64_t>{0x99ec5f36cb75f2b4, 0xbf6e1f784956452a, 0x1a5f849d4933e6e0,
                                                     0x6aa594f1262d2d2c, 0xbba5ad4a1f842e59, 0xffef8375d9ebcaca}));
  EXPECT_EQ(take(Prng(42), 6), (std::vector<uint64_t>{0x15780b2e0c2ec716, 0x6104d9866d113a7e, 0xae17533239e499a1,
                                                      0xecb8ad4703b360a1, 0xfde6dc7fe2ec5e64, 0xc50da53101795238}));
}

TEST(Prng, GoesOnFromASavedStateToTheSameValues) {
  Prng prng(7);
  for (int i = 0; i < 100; ++i) prng.next();
  Prng resumed = Prng::from_state(prng.state());
  EXPECT_EQ(take(resumed, 50), take(prng, 50));
  EXPECT_EQ(prng.normal(), resumed.normal());
  EXPECT_EQ(prng.state(), resumed.state()) << "nothing is kept outside the state";
}

// Zero is the one state xoshiro never leaves, and below() would wait in it for ever: a damaged file must not do that.
TEST(Prng, TakesTheStateItCannotHaveAsAFreshSeed) {
  Prng prng = Prng::from_state({0, 0, 0, 0});
  ASSERT_EQ(take(prng, 5), take(Prng(0), 5));
  EXPECT_LT(prng.below(3), 3u);
}

TEST(Prng, DerivesTheSameStreamForTheSameNameAndOthersForOthers) {
  EXPECT_EQ(take(Prng::derived(1, 2), 8), take(Prng::derived(1, 2), 8));
  EXPECT_NE(take(Prng::derived(1, 2), 8), take(Prng::derived(1, 3), 8));
  EXPECT_NE(take(Prng::derived(1, 2), 8), take(Prng::derived(2, 2), 8));
  EXPECT_NE(take(Prng::derived(1, 2), 8), take(Prng::derived(2, 1), 8));
  EXPECT_NE(take(Prng::derived(5, 0), 8), take(Prng(5), 8));
}

TEST(PrngBelow, StaysBelowItsBoundAndReachesBothEnds) {
  Prng prng(3);
  for (const uint64_t bound : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{10}}) {
    uint64_t low = bound;
    uint64_t high = 0;
    for (int i = 0; i < 1000; ++i) {
      const uint64_t value = prng.below(bound);
      ASSERT_LT(value, bound);
      low = std::min(low, value);
      high = std::max(high, value);
    }
    EXPECT_EQ(low, 0u);
    EXPECT_EQ(high, bound - 1);
  }
  for (int i = 0; i < 1000; ++i) EXPECT_LT(prng.below(~uint64_t{0}), ~uint64_t{0});
}

TEST(PrngBelow, OfNothingIsADefect) {
  const test::ThrowingAsserts guard;
  Prng prng(3);
  EXPECT_THROW(prng.below(0), AssertionFailure);
}

// False alarm rate 1e-6 each.
TEST(PrngBelow, IsUniform) {
  for (const uint64_t bound : {2u, 3u, 10u, 64u, 1000u}) {
    Prng prng(1234 + bound);
    std::vector<uint64_t> counts(bound);
    for (uint64_t i = 0; i < bound * 200; ++i) ++counts[prng.below(bound)];
    EXPECT_LT(chi_square(counts), once_in_a_million(bound - 1)) << "bound " << bound;
  }
}

// A plain modulo gives the lower half of this bound twice as often as the upper half. False alarm rate 1e-6.
TEST(PrngBelow, HasNoModuloBias) {
  constexpr uint64_t kBound = (uint64_t{1} << 63) + (uint64_t{1} << 62);
  Prng prng(99);
  std::vector<uint64_t> thirds(3);
  for (int i = 0; i < 30'000; ++i) ++thirds[prng.below(kBound) / (kBound / 3)];
  EXPECT_LT(chi_square(thirds), once_in_a_million(2));
}

TEST(PrngUniform, LiesInItsIntervalAndIsUniform) {
  Prng prng(11);
  std::vector<uint64_t> counts(50);
  for (int i = 0; i < 50'000; ++i) {
    const double value = prng.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    ++counts[static_cast<size_t>(value * 50)];
    const double scaled = prng.uniform(-3, 5);
    ASSERT_GE(scaled, -3.0);
    ASSERT_LE(scaled, 5.0);
  }
  EXPECT_LT(chi_square(counts), once_in_a_million(49));
}

TEST(PrngUniform, ChanceOfZeroNeverAndOfOneAlways) {
  Prng prng(12);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(prng.chance(0));
    EXPECT_TRUE(prng.chance(1));
  }
}

// Mean and variance of n normals: 5 standard errors, a false alarm in about a million seeds.
TEST(PrngNormal, HasMeanZeroAndVarianceOne) {
  constexpr int kCount = 40'000;
  Prng prng(13);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const double value = prng.normal();
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
  }
  EXPECT_LT(std::fabs(sum / kCount), 5 / std::sqrt(kCount));
  EXPECT_LT(std::fabs(squares / kCount - 1), 5 * std::sqrt(2.0 / kCount));
}

TEST(PrngNormal, TakesTwoValuesOfTheStreamEachTime) {
  Prng a(14);
  Prng b(14);
  a.normal();
  b.next();
  b.next();
  EXPECT_EQ(a.state(), b.state());
}

// Three items come in all six orders equally often; false alarm rate 1e-6.
TEST(PrngShuffle, KeepsTheItemsAndFavoursNoOrder) {
  Prng prng(15);
  std::vector<uint64_t> counts(6);
  for (int i = 0; i < 6000; ++i) {
    std::array<int, 3> items = {0, 1, 2};
    prng.shuffle(items);
    std::array<int, 3> sorted = items;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(sorted, (std::array<int, 3>{0, 1, 2}));
    ++counts[static_cast<size_t>(items[0] * 2 + (items[1] > items[2] ? 1 : 0))];
  }
  EXPECT_LT(chi_square(counts), once_in_a_million(5));
  std::vector<int> empty;
  prng.shuffle(empty);
  EXPECT_TRUE(empty.empty());
}

}  // namespace
}  // namespace coterie
