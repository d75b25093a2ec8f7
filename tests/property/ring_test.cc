// The one number domain: sums are exact, so nothing about the order, the place or the CPU of an addition can show.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "proto/ring/ring_vector.h"
#include "tests/support/matchers.h"
#include "tests/support/throwing_asserts.h"

namespace coterie {
namespace {

using Lanes = std::vector<uint64_t>;
using Values = std::vector<float>;

__extension__ using int128 = __int128;

constexpr size_t kTile = 4096;  // of ring_vector.cc: where a bad value is noticed

std::vector<SimdLevel> levels() {
  std::vector<SimdLevel> all = {SimdLevel::baseline};
  if (cpu_simd_level() >= SimdLevel::avx2) all.push_back(SimdLevel::avx2);
  if (cpu_simd_level() >= SimdLevel::avx512) all.push_back(SimdLevel::avx512);
  return all;
}

// round_half_even(value * weight * 2^fraction_bits), in integers from the float's own bits.
int64_t exact_lane(float value, uint32_t weight, uint32_t fraction_bits) {
  int exponent = 0;
  const auto mantissa = static_cast<int64_t>(std::ldexp(std::frexp(value, &exponent), 24));
  const int128 product = static_cast<int128>(mantissa) * weight;  // below 2^49
  const int shift = exponent - 24 + static_cast<int>(fraction_bits);
  if (shift >= 0) return static_cast<int64_t>(product << shift);
  if (shift < -60) return 0;
  const int128 floor = product >> -shift;
  const int128 rest = product - (floor << -shift);
  const int128 half = static_cast<int128>(1) << (-shift - 1);
  const bool up = rest > half || (rest == half && floor % 2 != 0);
  return static_cast<int64_t>(floor + (up ? 1 : 0));
}

struct Update {
  Values values;
  uint32_t weight;
};

class RingTest : public testing::Test {
 protected:
  // Bounds of all magnitudes, the finest fraction for them or a coarser one.
  FixedPointSpec any_spec(uint32_t contributors_max = 1000) {
    for (;;) {
      const float bound = static_cast<float>(std::ldexp(1 + prng_.uniform(), static_cast<int>(prng_.below(40)) - 20));
      const auto weight_max = static_cast<uint32_t>(1 + prng_.below(uint64_t{1} << prng_.below(25)));
      FixedPointSpec spec = FixedPointSpec::finest(bound, weight_max, contributors_max);
      if (!validate(spec)) continue;
      if (prng_.chance(0.3)) spec.fraction_bits = static_cast<uint32_t>(prng_.below(spec.fraction_bits + 1));
      return spec;
    }
  }

  float any_value(const FixedPointSpec& spec) {
    const double bound = spec.value_abs_max;
    switch (prng_.below(8)) {
      case 0: return prng_.chance(0.5) ? spec.value_abs_max : -spec.value_abs_max;
      case 1: return prng_.chance(0.5) ? 0.0f : -0.0f;
      case 2: {  // halves of a lane: ties, where the weight is odd
        const double lane = static_cast<double>(prng_.below(1000)) + 0.5;
        return static_cast<float>(std::min(std::ldexp(lane, -static_cast<int>(spec.fraction_bits)), bound));
      }
      case 3: return std::bit_cast<float>(static_cast<uint32_t>(prng_.below(1 << 23)));  // denormal
      case 4: return static_cast<float>(bound * std::ldexp(1, -static_cast<int>(prng_.below(60))));
      default: return static_cast<float>(prng_.uniform(-bound, bound));
    }
  }

  uint32_t any_weight(const FixedPointSpec& spec) {
    return prng_.chance(0.1) ? spec.weight_max : static_cast<uint32_t>(1 + prng_.below(spec.weight_max));
  }

  Update any_update(const FixedPointSpec& spec, size_t size) {
    Update update{Values(size), any_weight(spec)};
    for (float& value : update.values) value = any_value(spec);
    return update;
  }

  Lanes any_lanes(size_t size) {
    Lanes lanes(size);
    for (uint64_t& lane : lanes) lane = prng_.next();
    return lanes;
  }

  static constexpr uint64_t kSeed = 20'240'607;
  Prng prng_{kSeed};
  testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(kSeed)};
};

TEST_F(RingTest, EveryLaneIsTheExactProductRoundedHalfToEven) {
  for (int trial = 0; trial < 300; ++trial) {
    const FixedPointSpec spec = any_spec();
    ASSERT_OK(validate(spec));
    const Update update = any_update(spec, 200);
    const Lanes before = any_lanes(update.values.size());
    for (SimdLevel level : levels()) {
      Lanes lanes = before;
      ASSERT_OK(add_update(level, update.values, update.weight, spec, lanes));
      for (size_t i = 0; i < lanes.size(); ++i) {
        ASSERT_EQ(static_cast<int64_t>(lanes[i] - before[i]),
                  exact_lane(update.values[i], update.weight, spec.fraction_bits))
            << update.values[i] << " * " << update.weight << " * 2^" << spec.fraction_bits << ", level "
            << static_cast<int>(level);
      }
    }
  }
}

TEST_F(RingTest, TiesGoToTheEvenNeighbour) {
  const FixedPointSpec spec{64, 0, 100, 3, 10};
  const Values values = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 0.49999997f, 0.50000006f};
  const std::vector<int64_t> expected = {0, 2, 2, 0, -2, -2, 0, 1};
  for (SimdLevel level : levels()) {
    Lanes lanes(values.size());
    ASSERT_OK(add_update(level, values, 1, spec, lanes));
    for (size_t i = 0; i < lanes.size(); ++i) EXPECT_EQ(static_cast<int64_t>(lanes[i]), expected[i]) << values[i];
  }
}

TEST_F(RingTest, TheSumDoesNotDependOnOrderShardingOrMerging) {
  for (int trial = 0; trial < 10; ++trial) {
    const FixedPointSpec spec = any_spec();
    const size_t size = 1 + prng_.below(6000);
    std::vector<Update> updates;
    for (int i = 0; i < 24; ++i) updates.push_back(any_update(spec, size));

    Lanes expected(size);
    for (const Update& update : updates) {
      for (size_t i = 0; i < size; ++i) {
        expected[i] += static_cast<uint64_t>(exact_lane(update.values[i], update.weight, spec.fraction_bits));
      }
    }

    prng_.shuffle(updates);
    std::vector<Lanes> nodes(1 + prng_.below(7), Lanes(size));
    for (const Update& update : updates) {
      ASSERT_OK(add_update(update.values, update.weight, spec, nodes[prng_.below(nodes.size())]));
    }
    prng_.shuffle(nodes);
    Lanes sum(size);
    for (const Lanes& node : nodes) add_lanes(node, sum);
    EXPECT_EQ(sum, expected);

    // A retry that was counted twice by mistake is taken out again; so is half of everybody, and put back.
    ASSERT_OK(add_update(updates[3].values, updates[3].weight, spec, sum));
    subtract_update(updates[3].values, updates[3].weight, spec, sum);
    EXPECT_EQ(sum, expected);
    for (size_t i = 0; i < updates.size(); i += 2) subtract_update(updates[i].values, updates[i].weight, spec, sum);
    for (size_t i = 0; i < updates.size(); i += 2) {
      ASSERT_OK(add_update(updates[i].values, updates[i].weight, spec, sum));
    }
    EXPECT_EQ(sum, expected);
  }
}

// Lanes may be anything, masked ones are: subtracting is the exact inverse in the whole ring.
TEST_F(RingTest, SubtractTakesBackWhatAddAddedAtEveryLengthAndAlignment) {
  const FixedPointSpec spec = any_spec();
  for (size_t size = 0; size < 70; ++size) {
    for (size_t offset = 0; offset < 5; ++offset) {
      const Update update = any_update(spec, size + offset);
      const std::span<const float> values = std::span(update.values).subspan(offset);
      const Lanes before = any_lanes(size + offset);
      Lanes reference;
      for (SimdLevel level : levels()) {
        Lanes lanes = before;
        const std::span<uint64_t> window = std::span(lanes).subspan(offset);
        ASSERT_OK(add_update(level, values, update.weight, spec, window));
        if (reference.empty()) reference = lanes;
        EXPECT_EQ(lanes, reference) << "all levels give the same bits, level " << static_cast<int>(level);
        EXPECT_TRUE(std::equal(before.begin(), before.begin() + static_cast<ptrdiff_t>(offset), lanes.begin()))
            << "nothing is written before the window";
        subtract_update(level, values, update.weight, spec, window);
        EXPECT_EQ(lanes, before);
      }
    }
  }
}

TEST_F(RingTest, ABadValueAnywhereIsNamedAndLeavesTheLanesUntouched) {
  const FixedPointSpec spec = FixedPointSpec::finest(4, 1000, 1000);
  const float bad_values[] = {std::numeric_limits<float>::quiet_NaN(),
                              -std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::signaling_NaN(),
                              std::bit_cast<float>(0xffc12345u),  // a NaN with a payload
                              std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(),
                              std::nextafter(4.0f, 5.0f),
                              -std::nextafter(4.0f, 5.0f),
                              FLT_MAX};
  for (const size_t size : {size_t{1}, kTile - 1, kTile, kTile + 1, 2 * kTile + 37}) {
    const Update good = any_update(spec, size);
    const Lanes before = any_lanes(size);
    for (const size_t position :
         {size_t{0}, size_t{1}, kTile - 1, kTile, kTile + 1, 2 * kTile - 1, 2 * kTile, 2 * kTile + 36, size - 1}) {
      if (position >= size) continue;
      for (const float bad : bad_values) {
        Update update = good;
        update.values[position] = bad;
        for (SimdLevel level : levels()) {
          Lanes lanes = before;
          ASSERT_ERROR(add_update(level, update.values, update.weight, spec, lanes), ErrorCode::malformed,
                       "update value " + std::to_string(position) + " is not");
          ASSERT_EQ(lanes, before) << "size " << size << " position " << position << " value " << bad << " level "
                                   << static_cast<int>(level);
        }
      }
    }
  }
}

TEST_F(RingTest, OfSeveralBadValuesTheFirstIsNamed) {
  const FixedPointSpec spec = FixedPointSpec::finest(4, 1000, 1000);
  Update update = any_update(spec, 3 * kTile);
  const Lanes before = any_lanes(update.values.size());
  Lanes lanes = before;
  for (const size_t position : {3 * kTile - 1, kTile + 70, kTile + 7}) {
    update.values[position] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_ERROR(add_update(update.values, update.weight, spec, lanes), ErrorCode::malformed,
                 "update value " + std::to_string(position) + " is not");
    EXPECT_EQ(lanes, before);
  }
}

TEST_F(RingTest, AnUpdateWithoutValuesIsFine) { EXPECT_OK(add_update({}, 1, FixedPointSpec::finest(1, 1, 1), {})); }

// What validate() proves: the fullest sum of the largest updates, of either sign, is still the true sum.
TEST_F(RingTest, TheFullestSumDoesNotWrap) {
  for (int trial = 0; trial < 50; ++trial) {
    const auto contributors = static_cast<uint32_t>(1 + prng_.below(2000));
    const FixedPointSpec spec = any_spec(contributors);
    const Values values = {spec.value_abs_max, -spec.value_abs_max};
    Lanes lanes(2);
    for (uint32_t i = 0; i < contributors; ++i) ASSERT_OK(add_update(values, spec.weight_max, spec, lanes));
    const int128 exact = static_cast<int128>(exact_lane(values[0], spec.weight_max, spec.fraction_bits)) * contributors;
    EXPECT_TRUE(static_cast<int64_t>(lanes[0]) == exact);
    EXPECT_TRUE(static_cast<int64_t>(lanes[1]) == -exact);
  }
}

// long double has the 64 bits that an exact quotient of a lane needs here.
static_assert(std::numeric_limits<long double>::digits >= 64);

TEST_F(RingTest, TheMeanIsWithinHalfAFloatsLastPlace) {
  double worst = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    FixedPointSpec spec;
    spec.fraction_bits = static_cast<uint32_t>(prng_.below(51));
    const uint64_t weight_sum = 1 + (prng_.next() >> (8 + prng_.below(56)));
    const Lanes lanes = {prng_.next() >> prng_.below(64),
                         static_cast<uint64_t>(-static_cast<int64_t>(prng_.next() >> 1)), uint64_t{1} << 63,
                         ~(uint64_t{1} << 63), 0};
    Values mean(lanes.size());
    decode_mean(lanes, weight_sum, spec, mean);
    for (size_t i = 0; i < lanes.size(); ++i) {
      const long double exact =
          std::ldexp(static_cast<long double>(static_cast<int64_t>(lanes[i])) / static_cast<long double>(weight_sum),
                     -static_cast<int>(spec.fraction_bits));
      int exponent = 0;
      std::frexp(exact, &exponent);
      const long double last_place = std::ldexp(1.0L, std::max(exponent - 24, -149));
      worst = std::max(worst, static_cast<double>(std::fabs(static_cast<long double>(mean[i]) - exact) / last_place));
    }
    EXPECT_EQ(mean[4], 0.0f);
  }
  EXPECT_LE(worst, 0.5 + 0x1p-26);
  EXPECT_GT(worst, 0.49) << "the trials reach what they bound";
}

// Round trip through the ring: quantisation moves each update by half a unit at most, so the mean by half a unit of the
// mean's weight an update, then one float rounding.
TEST_F(RingTest, TheMeanOfUpdatesIsTheirWeightedMean) {
  for (int trial = 0; trial < 50; ++trial) {
    const FixedPointSpec spec = any_spec();
    constexpr size_t kSize = 100;
    constexpr int kUpdates = 20;
    Lanes lanes(kSize);
    std::vector<long double> expected(kSize);
    uint64_t weight_sum = 0;
    for (int u = 0; u < kUpdates; ++u) {
      const Update update = any_update(spec, kSize);
      ASSERT_OK(add_update(update.values, update.weight, spec, lanes));
      weight_sum += update.weight;
      for (size_t i = 0; i < kSize; ++i) expected[i] += static_cast<long double>(update.values[i]) * update.weight;
    }
    Values mean(kSize);
    decode_mean(lanes, weight_sum, spec, mean);
    const long double unit =
        std::ldexp(1.0L / static_cast<long double>(weight_sum), -static_cast<int>(spec.fraction_bits));
    for (size_t i = 0; i < kSize; ++i) {
      const long double exact = expected[i] / static_cast<long double>(weight_sum);
      const long double bound = 0.5001L * kUpdates * unit + std::fabs(exact) * 0x1p-23L + 0x1p-149L;
      EXPECT_LE(std::fabs(mean[i] - exact), bound);
    }
  }
}

TEST_F(RingTest, BrokenPreconditionsAreDefects) {
  const test::ThrowingAsserts guard;
  const FixedPointSpec spec = FixedPointSpec::finest(1, 10, 10);
  const Values two(2);
  Lanes lanes(3);
  Values mean(2);
  EXPECT_THROW((void)add_update(two, 1, spec, lanes), AssertionFailure);
  EXPECT_THROW(subtract_update(two, 1, spec, lanes), AssertionFailure);
  EXPECT_THROW(add_lanes(Lanes(2), lanes), AssertionFailure);
  EXPECT_THROW(decode_mean(lanes, 1, spec, mean), AssertionFailure);
  lanes.resize(2);
  EXPECT_THROW((void)add_update(two, 0, spec, lanes), AssertionFailure);
  EXPECT_THROW((void)add_update(two, 11, spec, lanes), AssertionFailure);
  EXPECT_THROW(decode_mean(lanes, 0, spec, mean), AssertionFailure);
}

}  // namespace
}  // namespace coterie
