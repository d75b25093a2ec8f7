#include "fl_server/runtime/update_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "fl_server/runtime/norm_counts.h"
#include "proto/messages/watch_noise.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

UpdateRules clipped_at(float clip) {
  UpdateRules rules;
  rules.clip_l2 = clip;
  return rules;
}

TEST(UpdateNorm, IsEnforcedWhereThePlanClips) {
  const std::vector<float> five = {3, 0, -4};
  EXPECT_OK(check_norm(five, clipped_at(5)));
  EXPECT_OK(check_norm(five, clipped_at(5.1f)));
  EXPECT_ERROR(check_norm(five, clipped_at(4.99f)), ErrorCode::malformed, "over the plan's clip_l2");
  EXPECT_OK(check_norm(five, clipped_at(0))) << "this plan does not clip";
}

// A device that clipped in other arithmetic is taken; nobody gains more than what the sensitivity allows for.
TEST(UpdateNorm, AllowsTheSlackOfADevicesArithmetic) {
  EXPECT_OK(check_norm(std::vector<float>{1.0009f}, clipped_at(1)));
  EXPECT_ERROR(check_norm(std::vector<float>{1.001f}, clipped_at(1)), ErrorCode::malformed, "clip it first");
}

TEST(UpdateNorm, OfWhatIsNotFiniteIsRefused) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    EXPECT_ERROR(check_norm(std::vector<float>{0, bad}, clipped_at(1)), ErrorCode::malformed, "not a finite number");
  }
}

// The bit is beside the norm, and one of two: a device that could choose it would choose the next round's clip.
TEST(UpdateNorm, WithAClipBitIsThatOfTheValuesBeforeIt) {
  UpdateRules rules = clipped_at(5);
  rules.encoding = UpdateEncoding::float32_clip_bit;
  rules.clip = {.clip_norm = 40, .bit = 2};
  EXPECT_OK(check_norm(std::vector<float>{3, 0, -4, 2}, rules));
  EXPECT_OK(check_norm(std::vector<float>{3, 0, -4, -2}, rules));
  EXPECT_ERROR(check_norm(std::vector<float>{3, 1, -4, 2}, rules), ErrorCode::malformed, "over the plan's clip_l2");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {0.0f, 1.0f, 2.1f, -1e30f, nan}) {
    EXPECT_ERROR(check_norm(std::vector<float>{3, 0, -4, bad}, rules), ErrorCode::malformed, "clip bit");
  }
  EXPECT_ERROR(check_norm(std::vector<float>{nan, 0, -4, 2}, rules), ErrorCode::malformed, "not a finite number");
}

// What honest rounding leaves of a clipped update may be longer than the clip, by what a device that lies has, too.
TEST(UpdateNorm, OfWhatWasRoundedToAGridOfItsOwnMayBeTwiceTheClip) {
  UpdateRules rules = clipped_at(2.5f);
  rules.encoding = UpdateEncoding::eden;
  const std::vector<float> five = {3, 0, -4};
  EXPECT_OK(check_norm(five, rules));
  rules.clip_l2 = 2.49f;
  EXPECT_ERROR(check_norm(five, rules), ErrorCode::malformed, "over the plan's clip_l2");
}

TEST(UpdateNorm, OfTheStepIsWithoutWhatStandsBehindIt) {
  UpdateRules rules;
  rules.encoding = UpdateEncoding::float32_clip_bit;
  rules.scalars = {{ScalarKind::squared_norm, 25}};
  rules.value_count = 5;
  EXPECT_EQ(*step_norm(std::vector<float>{3, 0, -4, 2, 9}, rules), 5);
  rules = {.value_count = 6, .control_value_count = 3};
  EXPECT_EQ(*step_norm(std::vector<float>{3, 0, -4, 7, 7, 7}, rules), 5);
  EXPECT_ERROR(step_norm(std::vector<float>{3, 0, std::numeric_limits<float>::infinity(), 7, 7, 7}, rules),
               ErrorCode::malformed, "not a finite number");
}

TEST(UpdateNorm, IsOfUpdatesThatAreSeenAndAreAStep) {
  Plan plan;
  plan.privacy.level = SecurityLevel::none;
  for (const auto& [encoding, has] : {std::pair(UpdateEncoding::float32, true),
                                      {UpdateEncoding::float32_clip_bit, true},
                                      {UpdateEncoding::top_k, true},
                                      {UpdateEncoding::eden, true},
                                      {UpdateEncoding::float32_pooled, false},
                                      {UpdateEncoding::quantized, false}}) {
    plan.update.encoding = encoding;
    EXPECT_EQ(has_norms(plan), has) << static_cast<int>(encoding);
  }
  plan.update.encoding = UpdateEncoding::float32;
  plan.analytics.emplace();
  EXPECT_FALSE(has_norms(plan)) << "counts are no step";
  plan.analytics.reset();
  plan.privacy.level = SecurityLevel::masked;
  EXPECT_FALSE(has_norms(plan));
}

// Numbers that an update tells beside are in no clip, and where they are seen none is below 0.
TEST(UpdateNorm, IsOfTheValuesBeforeTheScalars) {
  UpdateRules rules = clipped_at(5);
  rules.scalars = {{ScalarKind::squared_norm, 25}};
  EXPECT_OK(check_norm(std::vector<float>{3, 0, -4, 64}, rules));
  EXPECT_ERROR(check_norm(std::vector<float>{3, 1, -4, 64}, rules), ErrorCode::malformed, "over the plan's clip_l2");
  for (const float clip : {5.0f, 0.0f}) {
    rules.clip_l2 = clip;
    EXPECT_ERROR(check_norm(std::vector<float>{3, 0, -4, -0.5f}, rules), ErrorCode::malformed, "below 0");
  }
}

// Noise is made for lanes of one height: of a device that sends another one it would hide less.
TEST(UpdateNorm, TakesNoOtherLanesOfAWatchThanNoiseIsMadeFor) {
  UpdateRules rules = clipped_at(5);
  rules.fixed_point.value_abs_max = 8;
  rules.scalars = std::vector<ScalarRule>(2, {ScalarKind::watch_hit, 80});
  const float height = watch_height(rules);
  EXPECT_NEAR(height, 0.1, 1e-6);
  EXPECT_OK(check_norm(std::vector<float>{3, -4, height, -height}, rules));
  for (const float bad : {0.0f, std::nextafter(height, 1.0f), -std::nextafter(height, 1.0f), height / 2,
                          std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    EXPECT_ERROR(check_norm(std::vector<float>{3, -4, bad, height}, rules), ErrorCode::malformed, "lane of its watch");
    EXPECT_ERROR(check_norm(std::vector<float>{3, -4, height, bad}, rules), ErrorCode::malformed, "lane of its watch");
  }
  EXPECT_ERROR(check_norm(std::vector<float>{3.1f, -4, height, height}, rules), ErrorCode::malformed, "clip_l2");
}

}  // namespace
}  // namespace coterie
