// What a plan's noise of the devices promises, and that a cohort's sum keeps it.
#include "secure/dp/distributed/device_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "secure/dp/encode/sum_decoder.h"
#include "secure/dp/encode/update_encoder.h"
#include "secure/dp/ledger/ledger.h"
#include "tests/support/matchers.h"
#include "tests/unit/secure/dp/counter_source.h"

namespace coterie {
namespace {

constexpr uint64_t kValues = 1'500;
constexpr uint32_t kCohortMax = 12, kCohortMin = 9;

PrivacyRules bare() {
  return {.level = SecurityLevel::active_dp,
          .cohort_min = kCohortMin,
          .roster_max = kCohortMax,
          .corrupt_share = 0.1,
          .dropout_share = 0.2,
          .cipher_suite = 1};
}
DeviceNoiseGoal goal(double noise_multiplier = 2, uint32_t cohort_count = 1) {
  return {.value_count = kValues,
          .cohort_count = cohort_count,
          .clip_norm = 1,
          .noise_multiplier = noise_multiplier,
          .delta = 1e-6};
}
PrivacyRules rules_with(double noise_multiplier) {
  PrivacyRules rules = bare();
  EXPECT_OK(add_device_noise(rules, goal(noise_multiplier)));
  return rules;
}

TEST(DeviceNoise, CountsOnThoseWhoCannotAllBeCorrupt) {
  EXPECT_EQ(honest_min_of(9, 0.1, 12).value(), 8u);  // 1 of 12
  EXPECT_EQ(honest_min_of(9, 0, 12).value(), 9u);
  EXPECT_EQ(honest_min_of(10, 0.1, 100).error().code(), ErrorCode::invalid_argument);  // all ten may be
  EXPECT_EQ(honest_min_of(11, 0.1, 100).value(), 1u);
  EXPECT_EQ(honest_min_of(200, 0.1, 255).value(), 175u);
  EXPECT_ERROR(honest_min_of(200, 0.1, 256), ErrorCode::invalid_argument, "at most 255 devices");
  EXPECT_EQ(honest_min_of(100, 0.29, 100).value(), 71u);  // 0.29 * 100 is a little less than 29 in binary
}

TEST(DeviceNoise, IsAsPrivateAsOneSumWithThatMultiplier) {
  for (const double multiplier : {0.5, 2.0, 10.0}) {
    const PrivacyRules rules = rules_with(multiplier);
    EXPECT_OK(validate(rules));
    const LedgerRelease release = release_of(rules, kValues).value();
    EXPECT_NEAR(std::sqrt(release.variance) / release.l2_sensitivity, multiplier, 1e-9);
    EXPECT_LE(release.l1_sensitivity, release.l2_sensitivity * release.l2_sensitivity);
    const double gaussian =
        account_for({{GaussianNoise{multiplier}, Sampling::none(), 1}}, rules.delta)->rdp.epsilon.value();
    EXPECT_GE(rules.epsilon_round, gaussian * 0.999) << "no noise of whole numbers is better";
    EXPECT_LT(rules.epsilon_round, gaussian * 1.05) << "and this is hardly worse";
  }
}

TEST(DeviceNoise, APromiseIsCheckedByWhoItIsMadeTo) {
  EXPECT_OK(check_promise(rules_with(2), kValues));
  const auto refused = [](auto change, uint64_t values = kValues) {
    PrivacyRules rules = rules_with(2);
    change(rules);
    const Status checked = check_promise(rules, values);
    return !checked && checked.error().code() == ErrorCode::refused && checked.error().reason() == "epsilon_round";
  };
  EXPECT_TRUE(refused([](PrivacyRules& r) { r.epsilon_round *= 0.999; }));
  EXPECT_TRUE(refused([](PrivacyRules& r) { r.noise_variance_local *= 0.99; }));
  EXPECT_TRUE(refused([](PrivacyRules& r) { r.delta /= 2; }));
  EXPECT_TRUE(refused([](PrivacyRules& r) { r.cohort_min = 8; }));
  EXPECT_TRUE(refused([](PrivacyRules& r) { r.corrupt_share = 0.2; }));
  EXPECT_TRUE(refused([](PrivacyRules& r) { r.corrupt_share = 0.9; })) << "nobody left to count on";
  EXPECT_TRUE(refused([](PrivacyRules& r) { r.encoding.clip_norm = 1.1; }));
  EXPECT_TRUE(refused([](PrivacyRules& r) { ++r.encoding.fraction_bits; }));
  EXPECT_TRUE(refused([](PrivacyRules& r) { r.roster_max = 20; }));
  EXPECT_TRUE(refused([](PrivacyRules& r) { r.encoding.weight_max = 2; }));
  EXPECT_TRUE(refused([](PrivacyRules&) {}, 40 * kValues)) << "rounding adds to the norm of a longer update";
  EXPECT_FALSE(refused([](PrivacyRules& r) { r.noise_variance_local *= 2; }));
}

// What one cohort's noise hides is one device of it: others' sums beside it change nothing but how many bits a lane
// needs.
TEST(DeviceNoise, CohortsAreEachAsPrivateAsOneAlone) {
  PrivacyRules alone = rules_with(2), beside = bare();
  ASSERT_OK(add_device_noise(beside, goal(2, 100)));
  EXPECT_EQ(beside.encoding.contributors_max, 100 * kCohortMax);
  EXPECT_GT(beside.encoding.ring_bits, alone.encoding.ring_bits);
  EXPECT_EQ(beside.noise_variance_local, alone.noise_variance_local);
  EXPECT_NEAR(beside.epsilon_round, alone.epsilon_round, 1e-6 * alone.epsilon_round);
  EXPECT_OK(check_promise(beside, kValues));
}

TEST(DeviceNoise, SaysWhyThereIsNone) {
  PrivacyRules rules = bare();
  EXPECT_ERROR(add_device_noise(rules, goal(1e6)), ErrorCode::invalid_argument, "noise would have variance");
  rules.corrupt_share = 0.8;
  EXPECT_ERROR(add_device_noise(rules, goal()), ErrorCode::invalid_argument, "raise cohort_min");
}

TEST(DeviceNoise, TablesAreAsExactAsIsCharged) {
  for (const double variance : {kNoiseVarianceMin, 1.0, 300.0, kNoiseVarianceMax}) {
    PrivacyRules rules = rules_with(2);
    rules.noise_variance_local = variance;
    EXPECT_LE(device_sampler(rules)->table().total_variation, kDeviceDrawVariationMax) << variance;
  }
}

// The whole way but for masks, which cancel: the mean, and noise of the variance that the ledger has.
TEST(DeviceNoise, OfTheLeastCohortIsInTheSum) {
  const PrivacyRules rules = rules_with(2);
  const EncodingTerms spec = encoding_of(rules);
  const NoiseSampler sampler = device_sampler(rules).value();
  const KeyStreamSource signs = rotation_signs(Digest{{1, 2, 3}}).value();
  std::vector<uint32_t> sum(encoded_lanes(spec, kValues));
  ASSERT_LE(lane_bits(spec), 32u) << "narrow lanes are what the norm is bounded for";
  std::vector<double> mean(kValues);
  Prng prng(5);
  for (uint32_t device = 0; device < kCohortMin; ++device) {
    std::vector<float> update(kValues);
    for (float& value : update) value = static_cast<float>(prng.uniform(-0.02, 0.02));  // norm some 0.45
    for (size_t i = 0; i < kValues; ++i) mean[i] += update[i] / static_cast<double>(kCohortMin);
    const test::CounterSource rounding(100 + device), noise(200 + device);
    std::vector<uint64_t> wide(sum.size());
    const EncodingInputs inputs{.rounding = rounding, .rotation_signs = &signs, .sampler = &sampler, .noise = &noise};
    if (lane_bits(spec) == 16) {
      std::vector<uint16_t> lanes(sum.size());
      ASSERT_OK(encode_update(update, 1, spec, inputs, std::span(lanes)));
      wide.assign(lanes.begin(), lanes.end());
    } else {
      std::vector<uint32_t> lanes(sum.size());
      ASSERT_OK(encode_update(update, 1, spec, inputs, std::span(lanes)));
      wide.assign(lanes.begin(), lanes.end());
    }
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<uint32_t>(wide[i]);
  }
  std::vector<float> decoded(kValues);
  if (lane_bits(spec) == 16) {
    const std::vector<uint16_t> narrow(sum.begin(), sum.end());
    ASSERT_OK(decode_sum(std::span(narrow), spec, &signs, decoded));
  } else {
    ASSERT_OK(decode_sum(std::span<const uint32_t>(sum), spec, &signs, decoded));
  }
  double squares = 0;
  for (size_t i = 0; i < kValues; ++i) squares += (decoded[i] - mean[i]) * (decoded[i] - mean[i]);
  const double step = std::ldexp(1.0, -static_cast<int>(spec.fraction_bits)) / kCohortMin;
  // The noise is that of 9 devices, 8 of which are counted on; rounding adds at most a quarter of a squared step each.
  const double variance = (kCohortMin * rules.noise_variance_local + kCohortMin / 4.0) * step * step;
  const double ratio = squares / (kValues * variance);
  EXPECT_GT(ratio,
            0.83);  // 1,500 degrees: 6.3 standard deviations of 0.0365 are 0.23, upwards; less rounding downwards
  EXPECT_LT(ratio, 1.2);
}

TEST(DeviceNoise, RotationsAreOfTheSessionAlone) {
  const auto bytes = [](const Digest& session) {
    Bytes signs(64);
    rotation_signs(session)->write(0, signs);
    return signs;
  };
  EXPECT_EQ(bytes(Digest{{1}}), bytes(Digest{{1}}));
  EXPECT_NE(bytes(Digest{{1}}), bytes(Digest{{2}}));
}

}  // namespace
}  // namespace coterie
