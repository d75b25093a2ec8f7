#include "scheduler/job/watch_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "proto/codec/codec.h"
#include "proto/messages/plan_features.h"
#include "proto/messages/watch_lanes.h"
#include "proto/messages/watch_noise.h"
#include "scheduler/job/adaptive_clip_rules.h"
#include "scheduler/job/central_noise.h"
#include "scheduler/job/noisy_hits.h"
#include "scheduler/job/round_release.h"
#include "scheduler/job/watch_norm.h"
#include "scheduler/job/watch_outcome.h"
#include "secure/dp/ledger/ledger.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::IsEmpty;

HorizontalSettings job() {
  HorizontalSettings settings;
  settings.training.watch = WatchSettings{.checks = {"recommended"}, .every = 5};
  settings.privacy.level = SecurityLevel::none;
  return settings;
}

void add_noise(HorizontalSettings& settings, SecurityLevel level) {
  settings.update.clip_l2 = 2;
  settings.update.weight_max = 1;
  settings.rounds.count = 20;
  settings.rounds.goal_count = 100;
  settings.rounds.goal_count_min = 90;
  settings.privacy.level = level;
  settings.privacy.noise_multiplier = 3;
  settings.privacy.target_delta = 1e-6;
  settings.privacy.epsilon_budget = 100;
  if (level == SecurityLevel::none) return;
  settings.privacy.cohort_min = 90;
  settings.rounds.over_selection = 1.2;
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

// Each kind of job with noise: that of the server, of a tree, of the devices, and with a clip that follows.
std::vector<HorizontalSettings> noisy_jobs() {
  std::vector<HorizontalSettings> jobs;
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::active_dp}) {
    for (const bool is_adaptive : {false, true}) {
      for (const double share : {0.25, 1.0}) {
        HorizontalSettings& settings = jobs.emplace_back(job());
        add_noise(settings, level);
        settings.privacy.watch_share = share;
        if (is_adaptive) settings.privacy.adaptive_clip = AdaptiveClipSettings{};
      }
    }
  }
  HorizontalSettings& tree = jobs.emplace_back(job());
  add_noise(tree, SecurityLevel::none);
  tree.privacy.mechanism = NoiseMechanism::tree;
  tree.rounds.separation_min = 5;
  return jobs;
}

// What a device sends that wants to be seen: an update as long as is taken, its clip bit, and all lanes on one side.
std::vector<float> adversarial(const UpdateRules& rules, double norm) {
  std::vector<float> values(rules.value_count);
  values[0] = static_cast<float>(norm);
  if (rules.has_clip_bit()) values[rules.vector_value_count() - 1] = rules.clip.bit;
  for (float& lane : std::span(values).last(rules.scalars.size())) lane = watch_height(rules);
  return values;
}

TEST(WatchRules, HaveNoiseMadeForUpdateAndLanesTogether) {
  for (const HorizontalSettings& settings : noisy_jobs()) {
    SCOPED_TRACE(std::string(to_string(settings.privacy.level)) + " " + std::to_string(settings.privacy.watch_share));
    ASSERT_THAT(validate(settings), IsEmpty());
    ASSERT_THAT(validate_with_model(settings, 5'000), IsEmpty());
    const Plan plan = plan_of(settings, JobId("j"), 5'000);
    ASSERT_OK(validate(plan));
    EXPECT_TRUE(features_of(plan) & plan_feature::kNoisyWatch) << "older devices would send other lanes";
    EXPECT_EQ(*decode_plan(encode(plan)), plan);
    const bool is_central = settings.privacy.has_central_noise();
    const double longest = is_central ? norm_max_of(settings.update.clip_l2) : 2;
    double squares = 0, step_squares = 0;
    for (const float value : adversarial(plan.update, longest)) {
      squares += std::pow(static_cast<double>(value), 2);
      step_squares +=
          std::pow(std::nearbyint(std::ldexp(value, static_cast<int>(plan.update.fixed_point.fraction_bits))), 2);
    }
    if (!is_central) {
      EXPECT_LE(std::sqrt(squares), plan.privacy.encoding.clip_norm * (1 + 1e-6)) << "it would be clipped";
      EXPECT_GT(std::sqrt(squares), plan.privacy.encoding.clip_norm * 0.999);
      continue;
    }
    const CentralNoise noise = central_noise_of(settings, 5'000).value();
    EXPECT_LE(std::sqrt(step_squares), noise.l2_sensitivity);
    EXPECT_GT(std::sqrt(step_squares), noise.l2_sensitivity * 0.98) << "the bound is not far from the truth";
    EXPECT_GE(noise.sigma, settings.privacy.noise_multiplier * noise.l2_sensitivity);
  }
}

// No share can be told of a lane that is rounded to 0, and no record of one would be read again.
TEST(WatchRules, RefuseALaneBelowAStepOfTheGrid) {
  HorizontalSettings settings = job();
  add_noise(settings, SecurityLevel::none);
  settings.privacy.noise_multiplier = 1'700;
  ASSERT_THAT(validate(settings), IsEmpty());
  ASSERT_TRUE(central_noise_of(settings, 5'000));
  const Problems problems = validate_with_model(settings, 5'000);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/privacy/watch_share");
  settings.training.watch.reset();
  EXPECT_THAT(validate_with_model(settings, 5'000), IsEmpty());
}

TEST(WatchRules, CostNoEpsilonAndSomeNoise) {
  for (const HorizontalSettings& settings : noisy_jobs()) {
    HorizontalSettings plain = settings;
    plain.training.watch.reset();
    plain.privacy.watch_share = kWatchShare;
    const auto epsilon = [](const HorizontalSettings& of) {
      const uint64_t steps = of.privacy.has_tree_noise() ? 1 : of.rounds.count;
      return account_of({{release_of(of, 5'000), steps}}, 1e-6)->epsilon;
    };
    EXPECT_NEAR(epsilon(settings), epsilon(plain), 0.01 * epsilon(plain));
    const double share = settings.privacy.watch_share;
    EXPECT_NEAR(watch_norm_of(settings), 2 * share, 1e-9);
    EXPECT_EQ(watch_norm_of(plain), 0);
    EXPECT_THAT(round_assumptions(settings), testing::Contains(testing::HasSubstr("watch: each update tells beside")));
    if (!settings.privacy.adaptive_clip) continue;
    const AdaptiveClipNoise noise = adaptive_clip_noise(settings), without = adaptive_clip_noise(plain);
    EXPECT_DOUBLE_EQ(noise.bits_sigma, without.bits_sigma);
    EXPECT_NEAR(noise.update_multiplier, without.update_multiplier * std::hypot(1, share), 1e-9);
    // As adaptive_clip_rules.h has it: one sigma on all values.
    const ClipRules rules = clip_rules_of(settings);
    const double sigma = 3 * std::hypot(2.0, static_cast<double>(rules.bit), watch_norm_of(settings));
    EXPECT_NEAR(sigma, noise.update_multiplier * 2, 1e-6);
    EXPECT_NEAR(sigma / (2 * static_cast<double>(rules.bit)), noise.bits_sigma, 1e-6);
  }
}

TEST(WatchOutcome, HasHitsThatStandOutOfTheNoise) {
  WatchOutcome outcome{.looked = 1.1, .hits = {{"dead_relu", "a", 0.29}, {"label_drift", "", -0.4}}, .error = 0.1};
  const auto worst = [&](std::string_view check) {
    for (const auto& [name, share] : worst_by_check(outcome)) {
      if (name == check) return share;
    }
    return -1.0;
  };
  EXPECT_EQ(worst("dead_relu"), 0) << "noise makes as much";
  EXPECT_EQ(worst("label_drift"), 0);
  outcome.hits.push_back({"dead_relu", "b", 0.31});
  EXPECT_EQ(worst("dead_relu"), 0.31);
  outcome.error = 0;
  EXPECT_TRUE(stands_out(outcome, 1e-9));
  EXPECT_FALSE(stands_out(outcome, 0));
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
  expect_refused("/privacy/watch_share", "absent", [](auto& s) { s.privacy.watch_share = 0.5; });
  for (const double share : {0.0, 0.009, 1.1, std::nan("")}) {
    expect_refused("/privacy/watch_share", "[0.01", [share](auto& s) {
      add_noise(s, SecurityLevel::none);
      s.privacy.watch_share = share;
    });
  }
  expect_refused("/update/value_abs_max", "a lane of the watch", [](auto& s) {
    add_noise(s, SecurityLevel::none);
    s.update.value_abs_max = 0.01f;
  });
  expect_refused("/update/value_abs_max", "at most 1e12 times", [](auto& s) {
    add_noise(s, SecurityLevel::active_dp);
    s.update.value_abs_max = 1e13f;
  });
  expect_refused("/rounds/policy", "another model", [](auto& s) {
    add_noise(s, SecurityLevel::none);
    s.rounds.policy = RoundPolicyKind::buffered;
  });
  expect_refused("/privacy/noise_multiplier", "clipped", [](auto& s) { add_noise(s, SecurityLevel::masked); });
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
