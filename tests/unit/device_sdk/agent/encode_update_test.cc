// What leaves the device, against an oracle that knows nothing of the code: norms in long double, floats byte
// by byte.
#include "device_sdk/agent/encode_update.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "proto/codec/codec.h"
#include "tests/support/golden.h"
#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

UpdateRules rules(float clip, float bound = 8, uint32_t weight_max = 1'000) {
  UpdateRules result;
  result.clip_l2 = clip;
  result.fixed_point = FixedPointSpec::finest(bound, weight_max, 1'000);
  return result;
}

long double norm(const std::vector<float>& values) {
  long double squares = 0;
  for (const float value : values) squares += static_cast<long double>(value) * value;
  return std::sqrt(squares);
}

std::vector<float> random_values(uint64_t seed, size_t count, double scale) {
  Prng prng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.normal() * scale);
  return values;
}

TEST(UpdateWeight, IsTheNumberOfExamplesBetweenOneAndThePlansMaximum) {
  EXPECT_EQ(update_weight(0, rules(0)), 1u);
  EXPECT_EQ(update_weight(1, rules(0)), 1u);
  EXPECT_EQ(update_weight(999, rules(0)), 999u);
  EXPECT_EQ(update_weight(1'000, rules(0)), 1'000u);
  EXPECT_EQ(update_weight(1'001, rules(0)), 1'000u);
  EXPECT_EQ(update_weight(UINT64_MAX, rules(0)), 1'000u);
}

UpdateRules clip_bit_rules(double clip_norm) {
  UpdateRules with_bit = rules(2);
  with_bit.encoding = UpdateEncoding::float32_clip_bit;
  with_bit.clip = {.clip_norm = clip_norm, .bit = 0.25f};
  return with_bit;
}

// Clipped to the round's norm, scaled to the plan's, and whether it was within: at any clip that a plan may have.
TEST(LimitUpdate, WithAClipBitIsScaledAndTellsWhetherItWasClipped) {
  for (const double clip_norm : {1e-12, 0.3, 2.0, 70.0, 1e12}) {
    const std::vector<float> given = random_values(4, 1'000, 0.1);
    std::vector<float> sent = given;
    sent.push_back(std::numeric_limits<float>::quiet_NaN());  // is not looked at
    ASSERT_OK(limit_update(sent, clip_bit_rules(clip_norm)));
    const bool is_within = norm(given) <= clip_norm;
    EXPECT_EQ(sent.back(), is_within ? 0.25f : -0.25f) << clip_norm;
    sent.pop_back();
    const long double factor = 2 / (is_within ? static_cast<long double>(clip_norm) : norm(given));
    for (size_t i = 0; i < given.size(); ++i)
      EXPECT_NEAR(sent[i], given[i] * factor, 1e-6L * std::fabs(given[i] * factor));
    EXPECT_LE(norm(sent), 2.000001L);
  }
  std::vector<float> nothing(3);
  ASSERT_OK(limit_update(nothing, clip_bit_rules(1e-12)));
  EXPECT_EQ(nothing, (std::vector<float>{0, 0, 0.25f})) << "nothing has been learnt, within any clip";
  std::vector<float> diverged = {0, std::numeric_limits<float>::infinity(), 0};
  EXPECT_ERROR(limit_update(diverged, clip_bit_rules(1)), ErrorCode::invalid_argument, "diverged");
}

// The norm is that of the other coordinates alone, and what it scales are they alone.
TEST(LimitUpdate, LeavesPooledStatisticsOutOfTheNorm) {
  const RunningStatistics norm_at{2, 4, 2};
  UpdateRules pooled = rules(5);
  pooled.encoding = UpdateEncoding::float32_pooled;
  const std::vector<float> before = {30, 40, 1, -2, 0.5f, 0.25f};
  std::vector<float> after = before;
  ASSERT_OK(limit_update(after, pooled, std::span(&norm_at, 1)));
  EXPECT_EQ(after, (std::vector<float>{3, 4, 1, -2, 1.5f, 4.25f}));
  after = before;
  ASSERT_OK(limit_update(after, rules(5), std::span(&norm_at, 1)));
  EXPECT_LE(norm(after), 5.001L) << "a plan of before has them in it";
  EXPECT_LT(after[0], 3);
}

TEST(LimitUpdate, ScalesToTheNormAndKeepsTheDirection) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const std::vector<float> before = random_values(seed, 1 + seed * 37, 0.5);
    for (const float clip : {0.01f, 0.5f, 3.0f, 1e6f}) {
      std::vector<float> after = before;
      ASSERT_OK(limit_update(after, rules(clip, 1'000)));
      const long double factor = std::min<long double>(1, clip / norm(before));
      for (size_t i = 0; i < before.size(); ++i) {
        EXPECT_NEAR(after[i], static_cast<double>(before[i] * factor), 1e-6 * std::fabs(before[i])) << seed << " " << i;
      }
      EXPECT_LE(norm(after), clip * (1 + 1e-6L));
    }
  }
}

TEST(LimitUpdate, LeavesAnUpdateInsideTheNormBitByBit) {
  const std::vector<float> before = random_values(3, 1'000, 0.01);
  std::vector<float> after = before;
  ASSERT_OK(limit_update(after, rules(static_cast<float>(norm(before)) * 1.01f)));
  EXPECT_EQ(after, before);
  ASSERT_OK(limit_update(after, rules(0)));
  EXPECT_EQ(after, before) << "0 is no clipping";
}

TEST(LimitUpdate, HoldsEveryCoordinateInsideTheBoundAfterScaling) {
  std::vector<float> delta{10, -10, 0.5f, -0.0f};
  ASSERT_OK(limit_update(delta, rules(0, 2)));
  EXPECT_EQ(delta, (std::vector<float>{2, -2, 0.5f, -0.0f}));
  std::vector<float> scaled{30, 40};  // norm 50 to 5: 3 and 4, then the bound
  ASSERT_OK(limit_update(scaled, rules(5, 3.5f)));
  EXPECT_FLOAT_EQ(scaled[0], 3);
  EXPECT_FLOAT_EQ(scaled[1], 3.5f);
}

TEST(LimitUpdate, SumsTheSquaresOfTheLargestFloatsWithoutOverflow) {
  std::vector<float> delta(4, std::numeric_limits<float>::max());
  ASSERT_OK(limit_update(delta, rules(2)));
  for (const float value : delta) EXPECT_FLOAT_EQ(value, 1);
}

TEST(LimitUpdate, RefusesWhatIsNotFinite) {
  for (const float poison : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                             -std::numeric_limits<float>::infinity()}) {
    for (const float clip : {0.0f, 1.0f}) {
      std::vector<float> delta(5);
      delta[3] = poison;
      EXPECT_ERROR(limit_update(delta, rules(clip)), ErrorCode::invalid_argument, "not finite");
    }
  }
}

TEST(EncodeUpdate, IsTheHeaderAndThenTheFloatsInLittleEndian) {
  const std::vector<float> delta{0, -0.0f, 1, -1.5f, 1e-45f, 3.4028235e38f, 0.1f};
  const UpdateHeader header{.round = {RoundId(7), Attempt(2)},
                            .model = {},
                            .encoding = UpdateEncoding::float32,
                            .value_count = delta.size(),
                            .weight = 64,
                            .examples = 128,
                            .loss_sum = 2.25,
                            .correct = 17,
                            .train_ms = 250};
  const Bytes frame = encode_update(header, delta);
  const Result<Decoded<UpdateHeader>> decoded = decode_update(frame);
  ASSERT_OK(decoded);
  EXPECT_EQ(decoded->header, header);
  Bytes expected;
  for (const float value : delta) {
    for (int shift = 0; shift < 32; shift += 8) {
      expected.push_back(static_cast<uint8_t>(std::bit_cast<uint32_t>(value) >> shift));
    }
  }
  EXPECT_TRUE(std::equal(decoded->payload.begin(), decoded->payload.end(), expected.begin(), expected.end()));
  expect_golden_bytes("agent/update.hex", frame);
}

}  // namespace
}  // namespace coterie::test
