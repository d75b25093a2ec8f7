#include "scheduler/job/buffered_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "aggregation/robust/registry.h"
#include "aggregation/strategy/registry.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

HorizontalSettings buffered() {
  HorizontalSettings settings;
  settings.privacy.level = SecurityLevel::none;
  settings.rounds.policy = RoundPolicyKind::buffered;
  return settings;
}

void take_strategy(HorizontalSettings& settings, std::string_view name) {
  settings.strategy.rule = find_strategy(name);
  settings.strategy.values = StrategySettings::defaults_of(*settings.strategy.rule);
}

void expect_refused(std::string_view words, const std::function<void(HorizontalSettings&)>& change) {
  HorizontalSettings settings = buffered();
  change(settings);
  EXPECT_THAT(validate(settings),
              Contains(Field(&Problem::detail, HasSubstr("buffered does not go with " + std::string(words)))));
}

TEST(BufferedRules, TellThePlanWhatALateUpdateWeighs) {
  HorizontalSettings settings = buffered();
  settings.rounds.staleness_max = 7;
  settings.rounds.staleness_exponent = 1;
  ASSERT_THAT(validate(settings), IsEmpty());
  const Plan plan = plan_of(settings, JobId("j"), 1000);
  EXPECT_EQ(plan.staleness, (StalenessRules{.versions_max = 7, .exponent = 1}));
  EXPECT_OK(validate(plan));
  settings.rounds.policy = RoundPolicyKind::synchronous;
  EXPECT_EQ(plan_of(settings, JobId("j"), 1000).staleness, StalenessRules{});
}

// A roster closes over as many as leave a buffer when some vanish, and stays open for as many as it needs.
TEST(BufferedRules, GoWithMasks) {
  HorizontalSettings settings = buffered();
  EXPECT_EQ(adverts_least(settings), 0u);
  settings.privacy.level = SecurityLevel::masked;
  settings.rounds.goal_count = 8;
  settings.rounds.goal_count_min = 5;
  settings.rounds.over_selection = 1.5;
  settings.rounds.concurrency = 40;
  EXPECT_THAT(validate(settings), IsEmpty());
  EXPECT_EQ(adverts_goal(settings), 9u) << "8 / 0.9";
  settings.privacy.dropout_share = 0.5;
  EXPECT_EQ(adverts_goal(settings), 12u) << "as many as a round gives tickets";
  EXPECT_EQ(adverts_least(settings), 5u);
  EXPECT_OK(validate(plan_of(settings, JobId("j"), 1000)));
  settings.rounds = {.goal_count = 8, .over_selection = 1.5};
  EXPECT_EQ(adverts_least(settings), 0u) << "a synchronous attempt fails, and is tried again";
}

// The closed form of FedBuff's 1 / sqrt(1 + s): 1, .7071, .5 for s = 0, 1, 3.
TEST(BufferedRules, WeighByVersionsSinceTheDownload) {
  const StalenessRules rules{.versions_max = 20, .exponent = 0.5f};
  EXPECT_EQ(staleness_weight(0, rules), 1.0f);
  EXPECT_FLOAT_EQ(staleness_weight(1, rules), 0.70710678f);
  EXPECT_EQ(staleness_weight(3, rules), 0.5f);
}

TEST(BufferedRules, GoWithServerOptimizersAndLocalMethods) {
  for (const char* name :
       {"fedavg", "fedavgm", "fedadam", "fedyogi", "fedadagrad", "fedlion", "fedmuon", "fedshampoo"}) {
    HorizontalSettings settings = buffered();
    take_strategy(settings, name);
    settings.training.proximal_mu = 0.1f;
    settings.update.clip_l2 = 1;
    settings.rounds.separation_min = 3;
    EXPECT_THAT(validate(settings), IsEmpty()) << name;
  }
}

TEST(BufferedRules, RefuseByName) {
  expect_refused("privacy.level active", [](auto& s) { s.privacy.level = SecurityLevel::active; });
  expect_refused("privacy.level active_dp", [](auto& s) { s.privacy.level = SecurityLevel::active_dp; });
  expect_refused("privacy.cohort_max 5, which makes 2 cohorts", [](auto& s) {
    s.privacy.level = SecurityLevel::masked;
    s.privacy.cohort_max = 5;
  });
  expect_refused("privacy.noise_multiplier", [](auto& s) { s.privacy.noise_multiplier = 1; });
  expect_refused("privacy.adaptive_clip", [](auto& s) { s.privacy.adaptive_clip = AdaptiveClipSettings{}; });
  expect_refused("strategy.kind feddyn", [](auto& s) { take_strategy(s, "feddyn"); });
  expect_refused("strategy.kind scaffold", [](auto& s) { take_strategy(s, "scaffold"); });
  expect_refused("strategy.statistics pooled", [](auto& s) { s.strategy.statistics = Statistics::pooled; });
  expect_refused("update.compression", [](auto& s) { s.update.compression.bits = 8; });
  expect_refused("update.weight_share_max", [](auto& s) { s.update.weight_share_max = 0.5; });
  expect_refused("training.lora", [](auto& s) { s.training.lora = LoraSettings{}; });
  expect_refused("training.personal", [](auto& s) { s.training.personal = PersonalSettings{.norms = true}; });
}

TEST(BufferedRules, RefuseAllThatDoesNotGoAtOnce) {
  expect_refused("strategy.statistics pooled", [](auto& s) {
    s.strategy.statistics = Statistics::pooled;
    s.update.weight_share_max = 0.5;
    take_strategy(s, "feddyn");
  });
}

TEST(BufferedRules, BelongToBufferedRounds) {
  HorizontalSettings settings = buffered();
  settings.rounds.policy = RoundPolicyKind::synchronous;
  settings.rounds.staleness_max = 5;
  EXPECT_THAT(validate(settings), Contains(Field(&Problem::pointer, "/rounds/staleness_max")));
}

TEST(BufferedRules, HaveRanges) {
  HorizontalSettings settings = buffered();
  settings.rounds.staleness_max = 0;
  settings.rounds.concurrency = 5;  // less than goal_count
  EXPECT_THAT(validate(settings), Contains(Field(&Problem::pointer, "/rounds/staleness_max")));
  EXPECT_THAT(validate(settings), Contains(Field(&Problem::pointer, "/rounds/concurrency")));
}

}  // namespace
}  // namespace coterie
