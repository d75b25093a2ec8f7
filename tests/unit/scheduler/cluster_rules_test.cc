#include "scheduler/job/cluster_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/messages/plan_features.h"

namespace coterie {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

HorizontalSettings job() {
  HorizontalSettings settings;
  settings.training.personal = PersonalSettings{.kind = PersonalKind::clusters, .count = 3};
  settings.privacy.level = SecurityLevel::none;
  return settings;
}

TEST(ClusterRules, GiveAPlanASlotAndAScalarForEach) {
  ASSERT_THAT(validate(job()), IsEmpty());
  const Plan plan = plan_of(job(), JobId("j"), {300, 90});
  EXPECT_EQ(plan.update.value_count, 93u);
  EXPECT_EQ(plan.update.step_value_count(), 90u);
  EXPECT_EQ(plan.update.scalars, std::vector<ScalarRule>(3, {ScalarKind::cluster_member, 1}));
  EXPECT_TRUE(validate(plan).has_value());
  EXPECT_EQ(features_of(plan), plan_feature::kPersonal | plan_feature::kScalars | plan_feature::kClusters);
}

TEST(ClusterRules, TakeTheLevelsThatHideUpdatesAndTheStrategiesThatSumsAreEnoughFor) {
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::masked, SecurityLevel::active}) {
    HorizontalSettings settings = job();
    settings.privacy.level = level;
    EXPECT_THAT(validate(settings), IsEmpty());
  }
  for (const StrategyRule* rule : strategies()) {
    HorizontalSettings settings = job();
    settings.strategy = StrategySettings::of(rule->name);
    const bool is_plain = rule->scalars.empty() && rule->correction == CorrectionKind::none && !rule->move_matrix;
    EXPECT_EQ(validate(settings).empty(), is_plain) << rule->name;
  }
}

TEST(ClusterRules, RefuseByNameWhatDoesNotGoTogether) {
  const auto expect_refused = [](const char* pointer, const char* why, const auto& change) {
    HorizontalSettings settings = job();
    change(settings);
    bool found = false;
    for (const Problem& problem : validate(settings)) {
      found = found || (problem.pointer == pointer && problem.detail.find(why) != std::string::npos);
    }
    EXPECT_TRUE(found) << pointer << " " << why;
  };
  expect_refused("/strategy/kind", "of one model", [](auto& s) { s.strategy = StrategySettings::of("fedexp"); });
  expect_refused("/strategy/kind", "the matrices", [](auto& s) { s.strategy = StrategySettings::of("fedmuon"); });
  expect_refused("/privacy/noise_multiplier", "how many devices chose a cluster", [](auto& s) {
    s.update.clip_l2 = 1;
    s.update.weight_max = 1;
    s.privacy.noise_multiplier = 1;
    s.privacy.target_delta = 1e-5;
    s.privacy.epsilon_budget = 10;
  });
  expect_refused("/aggregation/rule", "updates of one model", [](auto& s) {
    s.update.weight_max = 1;
    s.aggregation = AggregationSettings::of("median");
  });
  expect_refused("/rounds/policy", "training.personal", [](auto& s) { s.rounds.policy = RoundPolicyKind::buffered; });
  expect_refused("/update/compression", "few bits", [](auto& s) { s.update.compression.bits = 4; });
  expect_refused("/training/personal", "lora", [](auto& s) { s.training.lora = LoraSettings{.fixed_a_seed = 0}; });
  expect_refused("/training/personal/count", "[2, 8]", [](auto& s) { s.training.personal->count = 1; });
  expect_refused("/training/personal/count", "[2, 8]", [](auto& s) { s.training.personal->count = 9; });
  expect_refused("/training/personal/count", "without clusters",
                 [](auto& s) { s.training.personal = PersonalSettings{.norms = true, .count = 2}; });
  expect_refused("/training/personal/lambda", "clusters", [](auto& s) { s.training.personal->lambda = 1; });
  expect_refused("/training/personal/norms", "clusters", [](auto& s) { s.training.personal->norms = true; });
}

}  // namespace
}  // namespace coterie
