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

HorizontalSettings at_none(CompressionKind kind, uint32_t bits) {
  HorizontalSettings settings;
  settings.privacy.level = SecurityLevel::none;
  settings.update.compression = {.kind = kind, .bits = bits};
  return settings;
}

TEST(CompressionRules, OfSingleUpdatesMakeThePlansRules) {
  HorizontalSettings settings = at_none(CompressionKind::eden, 2);
  EXPECT_THAT(validate(settings), IsEmpty());
  Plan plan = plan_of(settings, JobId("j"), 1000);
  EXPECT_OK(validate(plan));
  EXPECT_EQ(plan.update.encoding, UpdateEncoding::eden);
  EXPECT_EQ(plan.update.quantization, QuantizationRules{.bits = 2});
  settings = at_none(CompressionKind::top_k, 8);
  EXPECT_THAT(validate(settings), IsEmpty());
  plan = plan_of(settings, JobId("j"), 1001);
  EXPECT_OK(validate(plan));
  EXPECT_EQ(plan.update.encoding, UpdateEncoding::top_k);
  EXPECT_EQ(plan.update.top_k, (TopKRules{.sent_count = 101, .bits = 8, .has_error_feedback = true}));
  settings.update.compression.error_feedback = false;
  settings.update.compression.share = kTopKShareMin;
  settings.update.clip_l2 = 1;
  EXPECT_THAT(validate(settings), IsEmpty());
  plan = plan_of(settings, JobId("j"), 9);
  EXPECT_OK(validate(plan));
  EXPECT_EQ(plan.update.top_k, (TopKRules{.sent_count = 1, .bits = 8})) << "one at least";
}

TEST(CompressionRules, OfSingleUpdatesNameWhatTheyDoNotGoWith) {
  using Change = std::function<void(HorizontalSettings&)>;
  const auto refused = [](CompressionKind kind, std::string_view pointer, std::string_view words,
                          const Change& change) {
    HorizontalSettings settings = at_none(kind, kind == CompressionKind::eden ? 1 : 32);
    change(settings);
    const Problems problems = validate(settings);
    ASSERT_EQ(problems.size(), 1u) << words;
    EXPECT_EQ(problems[0].pointer, pointer);
    EXPECT_THAT(problems[0].detail, HasSubstr(words));
  };
  const CompressionKind eden = CompressionKind::eden, top_k = CompressionKind::top_k;
  const std::string key = "/update/compression";
  for (const SecurityLevel level : {SecurityLevel::masked, SecurityLevel::active}) {
    const Change masked = [level](auto& s) { s.privacy.level = level; };
    refused(eden, key, "a scale and a rotation of its own, which no masked sum can apply", masked);
    refused(top_k, key, "devices send other values each", masked);
  }
  const Change noisy = [](auto& s) {
    s.privacy = {.level = SecurityLevel::none, .noise_multiplier = 1, .target_delta = 1e-5, .epsilon_budget = 100};
    s.update.clip_l2 = 1;
    s.update.weight_max = 1;
    s.rounds.goal_count_min = s.rounds.goal_count;
  };
  refused(eden, key, "privacy.noise_multiplier", noisy);
  refused(top_k, key, "privacy.noise_multiplier", [&](auto& s) {
    noisy(s);
    s.update.compression.error_feedback = false;
  });
  refused(top_k, "/update/clip_l2", "must be 0 with error feedback", [](auto& s) { s.update.clip_l2 = 1; });
  for (const CompressionKind kind : {eden, top_k}) {
    refused(kind, key, "strategy.statistics pooled", [](auto& s) { s.strategy.statistics = Statistics::pooled; });
    refused(kind, key + "/rotate", "must be absent with", [](auto& s) { s.update.compression.rotate = false; });
  }
  refused(eden, key + "/bits", "must be in [1, 4]", [](auto& s) { s.update.compression.bits = 5; });
  refused(top_k, key + "/bits", "must be 32", [](auto& s) { s.update.compression.bits = 20; });
  refused(top_k, key + "/share", "must be in", [](auto& s) { s.update.compression.share = 0.0001; });
  refused(eden, key + "/share", "it is of top_k", [](auto& s) { s.update.compression.share = 0.5; });
  refused(eden, key + "/error_feedback", "must be absent with eden",
          [](auto& s) { s.update.compression.error_feedback = false; });
}

TEST(CompressionRules, WantAModelWithEnoughValuesForEden) {
  const HorizontalSettings settings = at_none(CompressionKind::eden, 1);
  EXPECT_THAT(compression_problems(settings, 256), IsEmpty());
  const Problems problems = compression_problems(settings, 255);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].detail, HasSubstr("256 values at least, those of this model have 255"));
  EXPECT_THAT(compression_problems(at_none(CompressionKind::top_k, 8), 10), IsEmpty());
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
