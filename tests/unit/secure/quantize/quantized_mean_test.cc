// Updates to levels, summed, and back: within the error that quantization_grid.h states, and without a bias.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "proto/messages/plan.h"
#include "proto/messages/quantized_lanes.h"
#include "secure/dp/encode/l2_norm.h"
#include "secure/quantize/level_sum.h"
#include "secure/quantize/quantization_grid.h"
#include "secure/quantize/shared_rotation.h"
#include "secure/quantize/update_quantizer.h"
#include "tests/support/matchers.h"
#include "tests/unit/secure/dp/counter_source.h"

namespace coterie {
namespace {

constexpr float kClip = 2;

UpdateRules rules_of(uint64_t value_count, uint32_t bits, bool rotated = true, uint32_t weight_max = 1) {
  return {.encoding = UpdateEncoding::quantized,
          .value_count = value_count,
          .clip_l2 = kClip,
          .fixed_point = FixedPointSpec::finest(64, weight_max, 1024),
          .quantization = {.bits = bits, .rotated = rotated}};
}

// Its norm is kClip. Lumpy: some values are a hundred times the others.
std::vector<float> random_update(size_t count, uint64_t seed) {
  Prng prng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.normal() * (prng.chance(0.01) ? 100 : 1));
  const double norm = *l2_norm(values);
  for (float& value : values) value = static_cast<float>(value * kClip / norm);
  return values;
}

struct Weighted {
  std::vector<float> values;
  uint32_t weight = 1;
};

// What a server makes of the round, with the rotation of `seed`.
std::vector<float> mean_of(const std::vector<Weighted>& updates, const UpdateRules& rules, uint64_t seed) {
  const test::CounterSource signs(seed);
  std::vector<uint64_t> sum(rules.value_count);
  std::vector<uint64_t> digits(weight_digits(rules.quantization, rules.fixed_point.weight_max));
  for (size_t device = 0; device < updates.size(); ++device) {
    const test::CounterSource rounding(1'000'003 * seed + device);
    const auto levels = quantize(updates[device].values, updates[device].weight, rules, signs, rounding);
    EXPECT_TRUE(test::is_ok(levels));
    std::vector<uint16_t> own(digits.size());
    write_weight_digits(updates[device].weight, rules.quantization, own);
    for (size_t i = 0; i < sum.size(); ++i) {
      EXPECT_LE((*levels)[i], level_max(rules.quantization));
      sum[i] += (*levels)[i];
    }
    for (size_t i = 0; i < digits.size(); ++i) digits[i] += own[i];
  }
  const auto weight = summed_weight_of(digits, updates.size(), rules);
  EXPECT_TRUE(test::is_ok(weight));
  std::vector<float> mean(sum.size());
  mean_of_levels(sum, updates.size(), *weight, rules, mean);
  if (rules.quantization.rotated) rotate_whole_back(signs, mean);
  return mean;
}

std::vector<double> true_mean(const std::vector<Weighted>& updates) {
  std::vector<double> mean(updates[0].values.size());
  double weight = 0;
  for (const Weighted& update : updates) {
    weight += update.weight;
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += static_cast<double>(update.values[i]) * update.weight;
  }
  for (double& value : mean) value /= weight;
  return mean;
}

double squared_distance(std::span<const float> a, std::span<const double> b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return squares;
}

TEST(QuantizedMean, IsWithinTheStatedError) {
  for (const uint32_t bits : {1u, 2u, 4u, 8u, 12u, 16u}) {
    for (const size_t count : {1000u, 4096u, 20'490u}) {
      std::vector<Weighted> updates;
      for (uint64_t i = 0; i < 10; ++i) updates.push_back({random_update(count, 100 * count + i)});
      const UpdateRules rules = rules_of(count, bits);
      const double half_step = grid_half_width(rules) / static_cast<double>(level_max(rules.quantization));
      const double stated = static_cast<double>(count) * half_step * half_step / 10;
      const double error = squared_distance(mean_of(updates, rules, bits), true_mean(updates));
      EXPECT_LT(error, 1.1 * stated) << bits << " bits, " << count;
      EXPECT_GT(error, 0.2 * stated) << "a bound that nothing comes near says nothing";
    }
  }
}

// What the formula says of 16,384 values at the clip: (2 * 3.5 / 15)^2 / 6 with 4 bits. Rotated rounding between the
// least and the largest value of each update, which no two devices share, has .043 with 4 bits and 1.4e-4 with 8.
TEST(QuantizedMean, OfOneUpdateHasTheErrorOfTheTable) {
  const std::vector<Weighted> one = {{random_update(16'384, 7)}};
  const auto share = [&](uint32_t bits) {
    return squared_distance(mean_of(one, rules_of(16'384, bits), 3), true_mean(one)) / (kClip * kClip);
  };
  EXPECT_NEAR(share(4), 0.0363, 0.003);
  EXPECT_NEAR(share(8), 2.1e-4, 2e-5);
}

// Other roundings and other rotations, each time: the error of their mean falls as 1 / times.
TEST(QuantizedMean, HasNoBias) {
  constexpr int kTimes = 200;
  for (const uint32_t bits : {1u, 4u, 8u}) {
    const std::vector<Weighted> one = {{random_update(1000, bits)}};
    const UpdateRules rules = rules_of(1000, bits);
    std::vector<double> sum(1000);
    double single = 0;
    for (int time = 0; time < kTimes; ++time) {
      const std::vector<float> mean = mean_of(one, rules, 1000 + static_cast<uint64_t>(time));
      single += squared_distance(mean, true_mean(one)) / kTimes;
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += mean[i];
    }
    std::vector<float> mean(1000);
    for (size_t i = 0; i < sum.size(); ++i) mean[i] = static_cast<float>(sum[i] / kTimes);
    EXPECT_LT(squared_distance(mean, true_mean(one)), 1.3 * single / kTimes) << bits << " bits";
  }
}

TEST(QuantizedMean, WeighsAsTheWeightsSay) {
  const UpdateRules rules = rules_of(4096, 8, true, 300);
  ASSERT_EQ(weight_digits(rules.quantization, 300), 2u);
  std::vector<Weighted> updates;
  for (uint64_t device = 0; device < 10; ++device) {
    updates.push_back({random_update(4096, device), static_cast<uint32_t>(device == 0 ? 300 : 30 * device)});
  }
  const double half_step = grid_half_width(rules) / 255;
  const double mean_weight = (300 + 30 * 45) / 10.0;
  const double stated = 4096 * half_step * half_step / 10 * std::pow(300 / mean_weight, 2);
  const std::vector<double> expected = true_mean(updates);
  const double error = squared_distance(mean_of(updates, rules, 9), expected);
  EXPECT_LT(error, 1.1 * stated);
  for (Weighted& update : updates) update.weight = 1;
  EXPECT_GT(squared_distance(mean_of(updates, rules, 9), expected), 10 * stated) << "weights do something";
}

TEST(QuantizedMean, WithoutRotationKeepsValuesApart) {
  UpdateRules rules = rules_of(1000, 8, false);
  rules.fixed_point.value_abs_max = 0.5f;
  EXPECT_EQ(grid_half_width(rules), 0.5);
  std::vector<float> values(1000);
  values[3] = 0.25f;
  const std::vector<float> mean = mean_of({{values}}, rules, 1);
  for (size_t i = 0; i < 1000; ++i) EXPECT_NEAR(mean[i], values[i], 1.0 / 255) << i;
  rules.fixed_point.value_abs_max = 64;
  EXPECT_EQ(grid_half_width(rules), kClip) << "no value is beyond the norm";
}

TEST(QuantizedMean, IsOfTheSameBytesWhereverItIsMade) {
  const std::vector<Weighted> one = {{random_update(5000, 1)}};
  EXPECT_EQ(mean_of(one, rules_of(5000, 5), 2), mean_of(one, rules_of(5000, 5), 2));
}

TEST(QuantizedMean, RefusesWhatIsNoUpdate) {
  const test::CounterSource source(1);
  const UpdateRules rules = rules_of(3, 4, true, 10);
  std::vector<float> values(3);
  for (const uint32_t weight : {0u, 11u}) {
    EXPECT_ERROR(quantize(values, weight, rules, source, source), ErrorCode::invalid_argument, "weight must be in");
  }
  values[1] = std::nanf("");
  EXPECT_ERROR(quantize(values, 1, rules, source, source), ErrorCode::invalid_argument, "not a finite number");
}

// Lanes of masked updates may hold anything: what the weight says must at least be possible.
TEST(QuantizedMean, RefusesWeightsThatNoDevicesHave) {
  const UpdateRules rules = rules_of(3, 4, true, 300);
  ASSERT_EQ(weight_digits(rules.quantization, 300), 3u);
  const auto weight = [&](std::vector<uint64_t> digits) { return summed_weight_of(digits, 2, rules); };
  EXPECT_EQ(weight({15, 1, 0}).value(), 31u);
  EXPECT_EQ(weight({24, 4, 2}).value(), 600u);
  EXPECT_ERROR(weight({1, 0, 0}), ErrorCode::malformed, "a weight of 1 of 2 updates");
  EXPECT_ERROR(weight({25, 4, 2}), ErrorCode::malformed, "a weight of 601");
  EXPECT_ERROR(weight({31, 0, 0}), ErrorCode::malformed, "digits of weights too large");
}

TEST(QuantizedMean, BoundsTheNormOfWhatAServerTakes) {
  const UpdateRules rules = rules_of(4096, 4);
  const test::CounterSource signs(1), rounding(2);
  for (const float scale : {1.0f, 3.0f}) {
    std::vector<float> values = random_update(4096, 5);
    for (float& value : values) value *= scale;
    const auto levels = quantize(values, 1, rules, signs, rounding);
    ASSERT_OK(levels);
    const std::vector<float> as_added(levels->begin(), levels->end());
    const double norm = quantized_norm(as_added, rules);
    if (scale == 1) {
      EXPECT_LE(norm, quantized_norm_max(rules));
      EXPECT_GE(norm, kClip);
    } else {
      EXPECT_GT(norm, quantized_norm_max(rules)) << "a device that does not clip";
    }
  }
}

// The device's own, and of one training.
TEST(QuantizedMean, RoundsByTheTrainingsSeed) {
  const auto bytes_of = [](uint64_t seed) {
    const auto source = update_rounding(seed);
    EXPECT_TRUE(test::is_ok(source));
    Bytes bytes(64);
    source->write(0, bytes);
    return bytes;
  };
  EXPECT_EQ(bytes_of(1), bytes_of(1));
  EXPECT_NE(bytes_of(1), bytes_of(2));
}

}  // namespace
}  // namespace coterie
