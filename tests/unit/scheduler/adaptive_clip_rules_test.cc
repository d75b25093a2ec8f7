// Adaptive clipping as a job has it: what goes with it, what a round's plan says, what noise and epsilon come to.
#include "scheduler/job/adaptive_clip_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "proto/codec/codec.h"
#include "scheduler/job/central_noise.h"
#include "scheduler/job/round_release.h"
#include "scheduler/job/round_terms.h"
#include "secure/dp/distributed/device_noise.h"
#include "secure/dp/ledger/ledger.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

HorizontalSettings adaptive(SecurityLevel level = SecurityLevel::none) {
  HorizontalSettings settings;
  settings.update.clip_l2 = 2;
  settings.update.weight_max = 1;
  settings.rounds.count = 20;
  settings.rounds.goal_count = 100;
  settings.rounds.goal_count_min = 90;
  settings.privacy.level = level;
  settings.privacy.noise_multiplier = 3;
  settings.privacy.target_delta = 1e-6;
  settings.privacy.epsilon_budget = 100;
  if (level != SecurityLevel::none) {
    settings.privacy.cohort_min = 90;
    settings.rounds.over_selection = 1.2;
  }
  settings.privacy.adaptive_clip = AdaptiveClipSettings{};
  return settings;
}

HorizontalSettings fixed_clip(HorizontalSettings settings) {
  settings.privacy.adaptive_clip.reset();
  return settings;
}

TEST(AdaptiveClipRules, NoiseIsThePapers) {
  const HorizontalSettings settings = adaptive();
  ASSERT_THAT(validate(settings), IsEmpty());
  const AdaptiveClipNoise noise = adaptive_clip_noise(settings);
  EXPECT_DOUBLE_EQ(noise.bits_sigma, 5) << "goal_count / 20";
  EXPECT_DOUBLE_EQ(noise.update_multiplier, 1 / std::sqrt(1 / 9.0 - 1 / 100.0));
  // One sigma on all values is z_delta * S for the updates, and sigma_b in units of 2 beta for the bits.
  const ClipRules rules = clip_rules_of(settings);
  const double sigma = 3 * std::hypot(2.0, static_cast<double>(rules.bit));
  EXPECT_NEAR(sigma, noise.update_multiplier * 2, 1e-6);
  EXPECT_NEAR(sigma / (2 * static_cast<double>(rules.bit)), noise.bits_sigma, 1e-6);
  HorizontalSettings small = settings;
  small.rounds.goal_count = small.rounds.goal_count_min = 10;
  EXPECT_DOUBLE_EQ(adaptive_clip_noise(small).bits_sigma, 3) << "noise_multiplier at least";
  small.privacy.adaptive_clip->bits_sigma = 30;
  EXPECT_DOUBLE_EQ(adaptive_clip_noise(small).bits_sigma, 30);
}

// The drawn noise, of the server or of the devices, has the job's multiplier of the norm of both together.
TEST(AdaptiveClipRules, CostsWhatAFixedClipDoes) {
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::active_dp}) {
    const HorizontalSettings settings = adaptive(level);
    ASSERT_THAT(validate(settings), IsEmpty());
    ASSERT_THAT(validate_with_model(settings, 5'000), IsEmpty());
    const double own = account_of({{release_of(settings, 5'000), 20}}, 1e-6)->epsilon;
    const double fixed = account_of({{release_of(fixed_clip(settings), 5'000), 20}}, 1e-6)->epsilon;
    EXPECT_NEAR(own, fixed, 0.01 * fixed) << to_string(level);
    EXPECT_GT(release_of(settings, 5'000).l2_sensitivity, 0);
  }
  // What noise has to hide: an update of the largest norm that is taken, its bit, and their rounding.
  const HorizontalSettings settings = adaptive();
  const CentralNoise noise = central_noise_of(settings, 5'000).value();
  const double norm = std::hypot(norm_max_of(2), static_cast<double>(clip_rules_of(settings).bit));
  EXPECT_GE(noise.l2_sensitivity, std::ldexp(norm, static_cast<int>(noise.fraction_bits)) + std::sqrt(5'001.0) / 2);
  EXPECT_GE(noise.sigma, 3 * noise.l2_sensitivity);
}

TEST(AdaptiveClipRules, APlanDiffersByItsClipAlone) {
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::active_dp}) {
    const HorizontalSettings settings = adaptive(level);
    const Plan job = plan_of(settings, JobId("j"), 5'000);
    ASSERT_OK(validate(job));
    EXPECT_EQ(job.update.value_count, 5'001u);
    EXPECT_EQ(job.update.model_value_count(), 5'000u);
    EXPECT_EQ(with_terms(job, terms_of(settings, {.number = 1})), job) << "the first round has the job's";
    Plan later = with_terms(job, terms_of(settings, {.number = 9, .ledger = {}, .examples_median = 0, .clip_norm = 7}));
    EXPECT_EQ(later.update.clip.clip_norm, 7);
    EXPECT_EQ(decode_plan(encode(later)).value(), later);
    if (level == SecurityLevel::active_dp) {
      EXPECT_OK(check_promise(later.privacy, later.update.value_count));
    }
    later.update.clip.clip_norm = job.update.clip.clip_norm;
    EXPECT_EQ(later, job);
  }
  EXPECT_EQ(
      terms_of(fixed_clip(adaptive()), {.number = 2, .ledger = {}, .examples_median = 0, .clip_norm = 7}).clip_norm, 0);
}

TEST(AdaptiveClipRules, APlanOfAnybodysIsRefusedOutsideOfItsRanges) {
  const Plan good = plan_of(adaptive(), JobId("j"), 10);
  ASSERT_OK(validate(good));
  const auto expect_bad = [&](const char* what, auto change) {
    Plan plan = good;
    change(plan);
    EXPECT_ERROR(decode_plan(encode(plan)), ErrorCode::malformed, what);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {nan, 0.0, -1.0, 1e-13, 1e13, std::numeric_limits<double>::infinity()}) {
    expect_bad("clip_norm", [&](Plan& plan) { plan.update.clip.clip_norm = bad; });
  }
  for (const float bad : {static_cast<float>(nan), 0.0f, -1.0f, 2.1f}) {
    expect_bad("bit must be", [&](Plan& plan) { plan.update.clip.bit = bad; });
  }
  expect_bad("clip_l2", [](Plan& plan) { plan.update.clip_l2 = 0; });
  expect_bad("value_count", [](Plan& plan) { plan.update.value_count = 1; });
  expect_bad("clip must be absent", [](Plan& plan) { plan.update.encoding = UpdateEncoding::float32; });
}

TEST(AdaptiveClipRules, TheClipFollowsTheCountAndIsBounded) {
  const HorizontalSettings settings = adaptive();
  ClipRules rules = clip_rules_of(settings);
  const auto bit = static_cast<double>(rules.bit);
  EXPECT_NEAR(*next_clip_norm(settings, rules, 100 * bit, 100), 2 * std::exp(-0.1), 1e-9) << "all within";
  EXPECT_NEAR(*next_clip_norm(settings, rules, -100 * bit, 100), 2 * std::exp(0.1), 1e-9) << "none within";
  EXPECT_NEAR(*next_clip_norm(settings, rules, 0, 100), 2, 1e-9) << "half of them";
  EXPECT_NEAR(*next_clip_norm(settings, rules, -1e300, 100), 2 * std::exp(0.1), 1e-9) << "whatever liars send";
  EXPECT_ERROR(next_clip_norm(settings, rules, std::nan(""), 100), ErrorCode::invalid_argument, "finite");
  rules.clip_norm = kClipNormMax;
  EXPECT_EQ(*next_clip_norm(settings, rules, -100 * bit, 100), kClipNormMax);
  rules.clip_norm = kClipNormMin;
  EXPECT_EQ(*next_clip_norm(settings, rules, 100 * bit, 100), kClipNormMin);
  EXPECT_EQ(clip_norm_of(settings, 1e300), kClipNormMax) << "a damaged row";
}

TEST(AdaptiveClipRules, WhatDoesNotGoWithItIsNamed) {
  const auto problem_of = [](const char* pointer, const char* words) {
    return Contains(testing::AllOf(Field(&Problem::pointer, pointer), Field(&Problem::detail, HasSubstr(words))));
  };
  HorizontalSettings settings = adaptive();
  settings.privacy.noise_multiplier = settings.privacy.target_delta = settings.privacy.epsilon_budget = 0;
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::masked, SecurityLevel::active}) {
    settings.privacy.level = level;
    EXPECT_THAT(validate(settings), problem_of("/privacy/adaptive_clip", "needs noise"));
  }
  settings = adaptive();
  settings.privacy.mechanism = NoiseMechanism::tree;
  settings.rounds.separation_min = 5;
  EXPECT_THAT(validate(settings), problem_of("/privacy/adaptive_clip", "privacy.mechanism tree"));
  settings = adaptive();
  settings.update.compression.bits = 4;
  EXPECT_THAT(validate(settings), problem_of("/privacy/adaptive_clip", "update.compression"));
  settings = adaptive();
  settings.update.clip_l2 = 65;  // over value_abs_max
  EXPECT_THAT(validate(settings), problem_of("/update/clip_l2", "value_abs_max"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {nan, -0.1, 0.0, 1.0, 1.5}) {
    settings = adaptive();
    settings.privacy.adaptive_clip->quantile = bad;
    EXPECT_THAT(validate(settings), problem_of("/privacy/adaptive_clip/quantile", "must be above 0"));
  }
  for (const double bad : {nan, -0.1, 0.0, 1e9}) {
    settings = adaptive();
    settings.privacy.adaptive_clip->learning_rate = bad;
    EXPECT_THAT(validate(settings), problem_of("/privacy/adaptive_clip/learning_rate", "at most 1"));
  }
  for (const double bad : {nan, -1.0, 2.9, 1e10}) {  // below the noise multiplier
    settings = adaptive();
    settings.privacy.adaptive_clip->bits_sigma = bad;
    EXPECT_THAT(validate(settings), problem_of("/privacy/adaptive_clip/bits_sigma", "must be 0"));
  }
}

}  // namespace
}  // namespace coterie
