#include "proto/ring/fixed_point.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <string>

#include "base/random.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

FixedPointSpec good() { return {64, 20, 4.0f, 1000, 10'000}; }

template <typename Change>
void expect_bad(std::string_view words, Change change) {
  FixedPointSpec spec = good();
  change(spec);
  EXPECT_ERROR(validate(spec), ErrorCode::invalid_argument, words);
}

TEST(FixedPointSpec, NamesTheFieldThatIsWrong) {
  using S = FixedPointSpec;
  EXPECT_OK(validate(good()));
  expect_bad("lane_bits must be 64, is 32", [](S& s) { s.lane_bits = 32; });
  expect_bad("fraction_bits must be at most 50, is 51", [](S& s) { s.fraction_bits = 51; });
  expect_bad("fraction_bits", [](S& s) { s.fraction_bits = 0xffffffff; });
  for (const float value : {0.0f, -0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    expect_bad("value_abs_max must be finite", [value](S& s) { s.value_abs_max = value; });
  }
  expect_bad("weight_max", [](S& s) { s.weight_max = 0; });
  expect_bad("weight_max must be in [1, 16777216], is 16777217", [](S& s) { s.weight_max = kWeightMax + 1; });
  expect_bad("contributors_max", [](S& s) { s.contributors_max = 0; });
  expect_bad("does not fit", [](S& s) { s.value_abs_max = FLT_MAX; });
}

// The two bounds of a lane, each met exactly: one lane below 2^51, a sum below 2^63.
TEST(FixedPointSpec, StopsExactlyWhereALaneOrASumWouldNotFit) {
  EXPECT_ERROR(validate(FixedPointSpec{64, 50, 2, 1, 1}), ErrorCode::invalid_argument, "does not fit");  // 2^51
  EXPECT_OK(validate(FixedPointSpec{64, 50, std::nextafter(2.0f, 0.0f), 1, 1}));
  const FixedPointSpec half{64, 30, 1, 1u << 20, 4096};  // lanes up to 2^50, times 2^12 is 2^62
  EXPECT_OK(validate(half));
  FixedPointSpec full = half;
  full.contributors_max = 8192;  // 2^63: one more than the largest signed sum
  EXPECT_ERROR(validate(full), ErrorCode::invalid_argument, "does not fit");
  full.contributors_max = 8191;
  EXPECT_OK(validate(full));
}

// Whatever the bounds: the finest spec is valid, and one bit more is not. The largest sum is checked again in integers.
TEST(FixedPointSpec, FinestIsValidAndCannotBeFiner) {
  constexpr uint64_t kSeed = 7;
  Prng prng(kSeed);
  int at_most_bits = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    const float bound = static_cast<float>(std::ldexp(1 + prng.uniform(), static_cast<int>(prng.below(60)) - 40));
    const auto weight_max = static_cast<uint32_t>(1 + prng.below(uint64_t{1} << prng.below(25)));
    const auto contributors = static_cast<uint32_t>(1 + prng.below(uint64_t{1} << prng.below(32)));
    SCOPED_TRACE("seed " + std::to_string(kSeed) + " trial " + std::to_string(trial));
    const FixedPointSpec spec = FixedPointSpec::finest(bound, weight_max, contributors);
    FixedPointSpec coarsest = spec;
    coarsest.fraction_bits = 0;
    if (!validate(coarsest)) {
      EXPECT_FALSE(validate(spec)) << "bounds that fit in no way stay invalid";
      continue;
    }
    ASSERT_OK(validate(spec));
    EXPECT_EQ(spec.value_abs_max, bound);
    EXPECT_EQ(spec.weight_max, weight_max);
    EXPECT_EQ(spec.contributors_max, contributors);
    // |lane| is at most bound * weight * 2^fraction, rounded to the nearest integer: below 2^51, so exact here.
    const double lane =
        std::nearbyint(std::ldexp(static_cast<double>(bound) * weight_max, static_cast<int>(spec.fraction_bits)));
    __extension__ using int128 = __int128;
    EXPECT_LE(static_cast<int128>(static_cast<int64_t>(lane)) * contributors,
              static_cast<int128>(std::numeric_limits<int64_t>::max()));
    FixedPointSpec finer = spec;
    ++finer.fraction_bits;
    EXPECT_FALSE(validate(finer));
    if (spec.fraction_bits == 50) ++at_most_bits;
  }
  EXPECT_GT(at_most_bits, 0) << "the trials reach the cap of 50 bits";
}

}  // namespace
}  // namespace coterie
