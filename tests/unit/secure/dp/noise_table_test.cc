#include "secure/dp/noise/noise_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/secure/dp/noise_golden.h"

namespace coterie {
namespace {

struct Threshold {
  uint64_t high, low;
};

// round(fraction * 2^63), round(fraction * 2^127): half of the number that has one bit more, plus that bit.
uint64_t rounded_63(const std::array<uint64_t, 4>& fraction) { return (fraction[0] >> 1) + (fraction[0] & 1); }
Threshold rounded_127(const std::array<uint64_t, 4>& fraction) {
  Threshold t{fraction[0] >> 1, fraction[0] << 63 | fraction[1] >> 1};
  if ((fraction[1] & 1) != 0 && ++t.low == 0) ++t.high;
  return t;
}

TEST(NoiseTable, EveryThresholdIsTheReferenceRounded) {
  for (const test::GoldenCase& c : test::golden_cases()) {
    const NoiseTable narrow = make_noise_table(c.kind, c.variance, NoiseWord::bits64);
    const NoiseTable wide = make_noise_table(c.kind, c.variance, NoiseWord::bits128);
    ASSERT_EQ(wide.high.size(), wide.low.size());
    ASSERT_TRUE(narrow.low.empty());
    size_t checked = 0;
    for (const test::GoldenTail& tail : test::read_golden_tails(c.file)) {
      const bool in_narrow = tail.k < narrow.high.size(), in_wide = tail.k < wide.high.size();
      EXPECT_EQ(in_narrow ? narrow.high[tail.k] : 0, rounded_63(tail.fraction)) << c.file << " k " << tail.k;
      const Threshold expected = rounded_127(tail.fraction);
      EXPECT_EQ(in_wide ? wide.high[tail.k] : 0, expected.high) << c.file << " k " << tail.k;
      EXPECT_EQ(in_wide ? wide.low[tail.k] : 0, expected.low) << c.file << " k " << tail.k;
      checked += static_cast<size_t>(in_wide);
    }
    const size_t stride = c.variance > 1e6 ? 61 : 1;
    EXPECT_EQ(checked, (wide.high.size() + stride - 1) / stride) << c.file;
  }
}

// Digits that mpmath gives, besides those of make_tables.py.
TEST(NoiseTable, AgreesWithProbabilitiesOfAnotherProgram) {
  const auto probability = [](NoiseKind kind, double variance, size_t k) {
    const NoiseTable table = make_noise_table(kind, variance, NoiseWord::bits64);
    const double above = std::ldexp(static_cast<double>(table.high[k]), -63);
    return k == 0 ? 1 - above : (std::ldexp(static_cast<double>(table.high[k - 1]), -63) - above) / 2;
  };
  EXPECT_NEAR(probability(NoiseKind::discrete_gaussian, 1, 0), 0.39894227826686170558, 1e-15);
  EXPECT_NEAR(probability(NoiseKind::discrete_gaussian, 1, 1), 0.24197072322446060973, 1e-15);
  EXPECT_NEAR(probability(NoiseKind::discrete_gaussian, 64, 0), 0.049867785050179084742, 1e-15);
  EXPECT_NEAR(probability(NoiseKind::skellam, 2, 0), 0.30850832255367103953, 1e-15);
  EXPECT_NEAR(probability(NoiseKind::skellam, 2, 1), 0.21526928924893765916, 1e-15);
  EXPECT_NEAR(probability(NoiseKind::skellam, 64, 0), 0.049966053382357373124, 1e-15);
}

// The distance of the rounded table from the golden one, summed up again here.
TEST(NoiseTable, ItsTotalVariationIsWhatTheReferenceSays) {
  for (const test::GoldenCase& c : test::golden_cases()) {
    if (c.variance > 1e6) continue;  // its file has not every line
    const NoiseTable table = make_noise_table(c.kind, c.variance, NoiseWord::bits64);
    double excess_before = 0, sum = 0;
    for (const test::GoldenTail& tail : test::read_golden_tails(c.file)) {
      // rounded - exact, in units of 2^-63: the exact tail is fraction[0] / 2 of them, and something.
      const double rest = std::ldexp(static_cast<double>(tail.fraction[1]), -64);
      const double excess = (tail.fraction[0] & 1) != 0 ? 0.5 - rest / 2 : -rest / 2;
      const bool in_table = tail.k < table.high.size();
      const double shown = in_table ? excess : -std::ldexp(static_cast<double>(tail.fraction[0]), -1) - rest / 2;
      sum += std::fabs(shown - excess_before);
      excess_before = shown;
    }
    const double expected = std::ldexp(sum / 2, -63);
    EXPECT_GE(table.total_variation, expected) << c.file;
    EXPECT_LE(table.total_variation, expected * (1 + 1e-9) + 0x1p-140) << c.file;
  }
}

TEST(NoiseTable, WiderWordsHaveAnErrorThatIsSmallerByAll64Bits) {
  const double narrow = make_noise_table(NoiseKind::skellam, 64, NoiseWord::bits64).total_variation;
  const double wide = make_noise_table(NoiseKind::skellam, 64, NoiseWord::bits128).total_variation;
  EXPECT_LT(narrow, 0x1p-58);
  EXPECT_LT(wide, 0x1p-121);
  EXPECT_GT(wide, 0x1p-127);
}

// At the very end several tails may round to the same unit.
TEST(NoiseTable, ThresholdsNeverRise) {
  for (const double variance : {0.01, 1.5, 77.7, 12345.0}) {
    for (const NoiseKind kind : {NoiseKind::skellam, NoiseKind::discrete_gaussian}) {
      const NoiseTable table = make_noise_table(kind, variance, NoiseWord::bits128);
      for (size_t k = 1; k < table.high.size(); ++k) {
        ASSERT_TRUE(table.high[k] < table.high[k - 1] ||
                    (table.high[k] == table.high[k - 1] && table.low[k] <= table.low[k - 1]))
            << variance << " k " << k;
      }
    }
  }
}

// Walking down for a u just below and just at each threshold finds its place.
TEST(NoiseTable, TheTreeHoldsTheSameThresholdsInOrder) {
  for (const double variance : {0.0025, 0.25, 64.0, 1600.0}) {
    const NoiseTable table = make_noise_table(NoiseKind::skellam, variance, NoiseWord::bits64);
    ASSERT_EQ(table.tree_high.size(), size_t{1} << table.levels);
    const auto walk = [&](uint64_t u) {
      size_t node = 1;
      for (int level = 0; level < table.levels; ++level)
        node = 2 * node + static_cast<size_t>(u < table.tree_high[node]);
      return node - (size_t{1} << table.levels);
    };
    for (size_t k = 0; k < table.high.size(); ++k) {
      for (const uint64_t u : {table.high[k], table.high[k] - 1}) {
        const auto above = std::count_if(table.high.begin(), table.high.end(), [&](uint64_t t) { return u < t; });
        EXPECT_EQ(walk(u), static_cast<size_t>(above)) << variance << " k " << k;
      }
    }
  }
}

}  // namespace
}  // namespace coterie
