#include "scheduler/job/compression_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

HorizontalSettings compressed() {
  HorizontalSettings settings;
  settings.update.clip_l2 = 2;
  settings.update.weight_max = 1;
  settings.update.compression.bits = 8;
  return settings;
}

Problems after(const std::function<void(HorizontalSettings&)>& change) {
  HorizontalSettings settings = compressed();
  change(settings);
  return validate(settings);
}

void expect_refused(std::string_view pointer, std::string_view words,
                    const std::function<void(HorizontalSettings&)>& change) {
  const Problems problems = after(change);
  ASSERT_EQ(problems.size(), 1u) << words;
  EXPECT_EQ(problems[0].pointer, pointer);
  EXPECT_THAT(problems[0].detail, HasSubstr(words));
}

TEST(CompressionRules, GoWithEveryLevelThatHasNoNoise) {
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::masked, SecurityLevel::active}) {
    for (const uint32_t bits : {1u, 4u, 8u, 16u}) {
      const auto change = [&](HorizontalSettings& s) { s.privacy.level = level, s.update.compression.bits = bits; };
      EXPECT_THAT(after(change), IsEmpty()) << bits;
      HorizontalSettings settings = compressed();
      change(settings);
      EXPECT_OK(validate(plan_of(settings, JobId("j"), 1000)));
    }
  }
}

TEST(CompressionRules, NameWhatTheyDoNotGoWith) {
  expect_refused("/update/clip_l2", "must be > 0 with update.compression", [](auto& s) { s.update.clip_l2 = 0; });
  expect_refused("/update/compression/bits", "must be in [1, 16], is 17",
                 [](auto& s) { s.update.compression.bits = 17; });
  expect_refused("/update/compression", "strategy.statistics pooled",
                 [](auto& s) { s.strategy.statistics = Statistics::pooled; });
  const auto with_noise = [](HorizontalSettings& s, SecurityLevel level) {
    s.privacy = {.level = level, .noise_multiplier = 1, .target_delta = 1e-5, .epsilon_budget = 100};
    s.privacy.cohort_min = s.rounds.goal_count_min = s.rounds.goal_count;
  };
  expect_refused("/update/compression", "privacy.noise_multiplier",
                 [&](auto& s) { with_noise(s, SecurityLevel::none); });
  expect_refused("/update/compression", "privacy.level active_dp",
                 [&](auto& s) { with_noise(s, SecurityLevel::active_dp); });
}

TEST(CompressionRules, MakeLanesForTheDevicesOfARound) {
  HorizontalSettings settings = compressed();
  Plan plan = plan_of(settings, JobId("j"), 1000);
  EXPECT_EQ(plan.update.encoding, UpdateEncoding::quantized);
  EXPECT_EQ(plan.update.quantization, (QuantizationRules{.bits = 8, .rotated = true, .contributors_max = 10}));
  settings.rounds.over_selection = 2;
  plan = plan_of(settings, JobId("j"), 1000);
  EXPECT_EQ(plan.update.quantization.contributors_max, adverts_goal(settings));
  settings.privacy.level = SecurityLevel::none;
  plan = plan_of(settings, JobId("j"), 1000);
  EXPECT_EQ(plan.update.quantization.contributors_max, 0u) << "each update lies in its own bits";
  settings.update.compression = {};
  EXPECT_EQ(plan_of(settings, JobId("j"), 1000).update.quantization, QuantizationRules{});
}

TEST(CompressionRules, RefuseSumsOfMoreThan32Bits) {
  expect_refused("/update/compression/bits", "take fewer, or fewer devices a round", [](auto& s) {
    s.update.compression.bits = 16;
    s.rounds.goal_count = s.rounds.goal_count_min = 70'000;
    s.privacy.cohort_max = 200;
  });
}

}  // namespace
}  // namespace coterie
