#include "scheduler/job/width_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/messages/plan_features.h"

namespace coterie {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

HorizontalSettings job() {
  HorizontalSettings settings;
  settings.training.widths = {1'000'000, 500'000, 250'000};
  settings.privacy.level = SecurityLevel::none;
  return settings;
}

// Two dense layers with so many channels between.
ModelGraph graph_of(int64_t channels) {
  ModelGraph graph;
  graph.tensors = {{.name = "x", .role = TensorRole::input, .shape = {4}},
                   {.name = "a", .role = TensorRole::parameter, .shape = {4, channels}},
                   {.name = "b", .role = TensorRole::parameter, .shape = {channels, 2}, .payload_offset = 4096},
                   {.name = "h"},
                   {.name = "y"}};
  graph.ops = {{OpKind::dense, "first", {0, 1, kNoTensor}, {3}, default_attributes(OpKind::dense)},
               {OpKind::dense, "last", {3, 2, kNoTensor}, {4}, default_attributes(OpKind::dense)}};
  graph.inputs = {0};
  graph.output = 4;
  return graph;
}

TEST(WidthRules, GiveAPlanAScalarForEachWidthButTheNarrowest) {
  ASSERT_THAT(validate(job()), IsEmpty());
  const Plan plan = plan_of(job(), JobId("j"), {300, 0});
  EXPECT_EQ(plan.update.value_count, 302u);
  EXPECT_EQ(plan.update.scalars, std::vector<ScalarRule>(2, {ScalarKind::width_holder, 1}));
  EXPECT_TRUE(validate(plan).has_value());
  EXPECT_EQ(features_of(plan), plan_feature::kScalars | plan_feature::kWidths);
}

TEST(WidthRules, TakeTheLevelsThatHideUpdatesAndTheStrategiesThatSumsAreEnoughFor) {
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

TEST(WidthRules, RefuseByNameWhatDoesNotGoTogether) {
  const auto expect_refused = [](const char* pointer, const char* why, const auto& change) {
    HorizontalSettings settings = job();
    change(settings);
    bool found = false;
    for (const Problem& problem : validate(settings)) {
      found = found || (problem.pointer == pointer && problem.detail.find(why) != std::string::npos);
    }
    EXPECT_TRUE(found) << pointer << " " << why;
  };
  expect_refused("/strategy/kind", "whole model", [](auto& s) { s.strategy = StrategySettings::of("fedexp"); });
  expect_refused("/strategy/kind", "whole model", [](auto& s) { s.strategy = StrategySettings::of("scaffold"); });
  expect_refused("/strategy/kind", "matrix as a whole", [](auto& s) { s.strategy = StrategySettings::of("fedmuon"); });
  expect_refused("/privacy/noise_multiplier", "how many devices trained a width", [](auto& s) {
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
  expect_refused("/rounds/policy", "training.widths", [](auto& s) { s.rounds.policy = RoundPolicyKind::buffered; });
  expect_refused("/update/compression", "few bits", [](auto& s) { s.update.compression.bits = 4; });
  expect_refused("/training/widths", "lora", [](auto& s) { s.training.lora = LoraSettings{.fixed_a_seed = 0}; });
  expect_refused("/training/widths", "personal",
                 [](auto& s) { s.training.personal = PersonalSettings{.kind = PersonalKind::model, .lambda = 1}; });
  for (const std::vector<uint32_t>& widths : std::vector<std::vector<uint32_t>>{
           {500'000, 250'000}, {1'000'000, 250'000, 500'000}, {1'000'000, 1'000'000}, {1'000'000, 0}, {2'000'000, 1}}) {
    expect_refused("/training/widths/classes", "begin with 1, fall", [&](auto& s) { s.training.widths = widths; });
  }
  expect_refused("/training/widths/classes", "2 to 8", [](auto& s) { s.training.widths = {1'000'000}; });
}

TEST(WidthRules, RefuseAModelThatCannotBeCutOrNotFarEnough) {
  EXPECT_THAT(width_problems(job(), graph_of(32)), IsEmpty());
  EXPECT_THAT(width_problems(HorizontalSettings(), ModelGraph()), IsEmpty()) << "nothing is asked of other jobs";
  const Problems few = width_problems(job(), graph_of(2));
  ASSERT_EQ(few.size(), 1u);
  EXPECT_EQ(few[0].pointer, "/training/widths/classes");
  EXPECT_THAT(few[0].detail, HasSubstr("entry 3 cuts no more")) << "half of two channels is one, and a quarter, too";
  ModelGraph recurrent = graph_of(32);
  recurrent.ops[0].kind = OpKind::rnn;
  const Problems problems = width_problems(job(), recurrent);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/training/widths");
  EXPECT_THAT(problems[0].detail, HasSubstr("first (rnn) has no meaning"));
}

}  // namespace
}  // namespace coterie
