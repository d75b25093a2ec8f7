#include "scheduler/job/watch_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/messages/plan_features.h"
#include "proto/messages/watch_lanes.h"

namespace coterie {
namespace {

using testing::IsEmpty;

HorizontalSettings job() {
  HorizontalSettings settings;
  settings.training.watch = WatchSettings{.checks = {"recommended"}, .every = 5};
  settings.privacy.level = SecurityLevel::none;
  return settings;
}

TEST(WatchRules, GiveAPlanNamesAndLanes) {
  ASSERT_THAT(validate(job()), IsEmpty());
  const Plan plan = plan_of(job(), JobId("j"), {300, 90});
  ASSERT_TRUE(plan.training.watch.has_value());
  EXPECT_EQ(*plan.training.watch, named_checks(*job().training.watch)) << "a plan names what is recommended today";
  const size_t lanes = watch_lane_count(*plan.training.watch);
  EXPECT_EQ(plan.update.value_count, 90 + lanes);
  EXPECT_EQ(plan.update.step_value_count(), 90u);
  EXPECT_TRUE(validate(plan).has_value());
  EXPECT_EQ(features_of(plan), plan_feature::kScalars | plan_feature::kWatch);
}

TEST(WatchRules, TakeEachLevelAndEachStrategyThatSumsAreEnoughFor) {
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::masked, SecurityLevel::active}) {
    HorizontalSettings settings = job();
    settings.privacy.level = level;
    EXPECT_THAT(validate(settings), IsEmpty());
    EXPECT_TRUE(validate(plan_of(settings, JobId("j"), {300, 90})).has_value());
  }
  for (const StrategyRule* rule : strategies()) {
    HorizontalSettings settings = job();
    settings.strategy = StrategySettings::of(rule->name);
    settings.update.weight_max = 1;
    settings.privacy.level = SecurityLevel::masked;
    HorizontalSettings plain = settings;
    plain.training.watch.reset();
    EXPECT_EQ(validate(settings).empty(), validate(plain).empty()) << rule->name;
    if (validate(plain).empty()) EXPECT_TRUE(validate(plan_of(settings, JobId("j"), {300, 90}))) << rule->name;
  }
}

TEST(WatchRules, RefuseByNameWhatDoesNotGoTogether) {
  const auto expect_refused = [](const char* pointer, const char* why, const auto& change) {
    HorizontalSettings settings = job();
    change(settings);
    bool found = false;
    for (const Problem& problem : validate(settings)) {
      found = found || (problem.pointer == pointer && problem.detail.find(why) != std::string::npos);
    }
    EXPECT_TRUE(found) << pointer << " " << why;
  };
  expect_refused("/privacy/noise_multiplier", "what devices found", [](auto& s) {
    s.update.clip_l2 = 1;
    s.update.weight_max = 1;
    s.privacy.noise_multiplier = 1;
    s.privacy.target_delta = 1e-5;
    s.privacy.epsilon_budget = 10;
  });
  expect_refused("/aggregation/rule", "a part of their sum", [](auto& s) {
    s.update.weight_max = 1;
    s.aggregation = AggregationSettings::of("median");
  });
  expect_refused("/rounds/policy", "another model", [](auto& s) { s.rounds.policy = RoundPolicyKind::buffered; });
  expect_refused("/update/compression", "few bits", [](auto& s) { s.update.compression.bits = 4; });
  expect_refused("/training/watch", "lora", [](auto& s) { s.training.lora = LoraSettings{.fixed_a_seed = 0}; });
  expect_refused("/training/watch", "clusters",
                 [](auto& s) { s.training.personal = PersonalSettings{.kind = PersonalKind::clusters, .count = 2}; });
  expect_refused("/training/watch/checks", "dead_relu", [](auto& s) { s.training.watch->checks = {"dead_rellu"}; });
  expect_refused("/training/watch/checks", "1 to 16", [](auto& s) { s.training.watch->checks = {}; });
  expect_refused("/training/watch/checks", "twice", [](auto& s) {
    s.training.watch->checks = {"weight_overflow", "weight_overflow"};
  });
  expect_refused("/training/watch/checks", "reads classes", [](auto& s) {
    s.training.watch->checks = {"label_drift"};
    s.training.target = TargetKind::values;
  });
  expect_refused("/training/watch/every", "[1, 1000000]", [](auto& s) { s.training.watch->every = 0; });
}

TEST(WatchRules, HoldNamesAgainstTheGraph) {
  ModelGraph graph;
  graph.tensors.push_back({.role = TensorRole::parameter, .shape = {4, 4}});
  graph.ops.push_back({.kind = OpKind::tanh});
  HorizontalSettings settings = job();
  EXPECT_THAT(watch_problems(settings, graph), IsEmpty()) << "recommended is for all models";
  settings.training.watch->checks = {"activation_range", "weight_initial", "weight_overflow"};
  EXPECT_THAT(watch_problems(settings, graph), IsEmpty());
  settings.training.watch->checks.emplace_back("dead_relu");
  const Problems problems = watch_problems(settings, graph);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/training/watch/checks");
  EXPECT_THAT(problems[0].detail, testing::HasSubstr("dead_relu"));
  graph.ops[0].kind = OpKind::relu6;
  settings.training.watch->checks = {"dead_relu"};
  EXPECT_THAT(watch_problems(settings, graph), IsEmpty());
}

}  // namespace
}  // namespace coterie
