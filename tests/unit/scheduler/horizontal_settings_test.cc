#include "scheduler/job/horizontal_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "secure/dp/distributed/device_noise.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

HorizontalSettings adam_settings() {
  HorizontalSettings settings;
  settings.training.optimizer.kind = OptimizerKind::adam;
  settings.strategy = StrategySettings::of("fedadam");
  return settings;
}

std::vector<std::string> pointers_of(const HorizontalSettings& settings) {
  std::vector<std::string> pointers;
  for (const Problem& problem : validate(settings)) pointers.push_back(problem.pointer);
  return pointers;
}

std::vector<std::string> pointers_after(HorizontalSettings settings,
                                        const std::function<void(HorizontalSettings&)>& change) {
  change(settings);
  return pointers_of(settings);
}

TEST(HorizontalSettings, IsValidByDefaultAndHidesUpdates) {
  EXPECT_THAT(validate(HorizontalSettings()), IsEmpty());
  EXPECT_EQ(HorizontalSettings().privacy.level, SecurityLevel::active);
  EXPECT_THAT(validate(adam_settings()), IsEmpty());
}

HorizontalSettings masked_settings() {
  HorizontalSettings settings;
  settings.privacy.level = SecurityLevel::masked;
  return settings;
}

TEST(HorizontalSettings, PrivacyNamesTheFieldThatIsWrong) {
  EXPECT_THAT(validate(masked_settings()), IsEmpty());
  HorizontalSettings active = masked_settings();
  active.privacy.level = SecurityLevel::active;
  EXPECT_THAT(validate(active), IsEmpty());
  const auto wrong = [](const HorizontalSettings& from, const std::function<void(HorizontalSettings&)>& change) {
    return pointers_after(from, change);
  };
  EXPECT_THAT(wrong(active, [](HorizontalSettings& s) { s.privacy.level = SecurityLevel::active_dp; }),
              ElementsAre("/privacy/noise_multiplier"));
  EXPECT_THAT(wrong(active, [](HorizontalSettings& s) { s.privacy.corrupt_share = .34; }),
              ElementsAre("/privacy/corrupt_share"));
  EXPECT_THAT(wrong(masked_settings(), [](HorizontalSettings& s) { s.privacy.corrupt_share = .34; }), IsEmpty());
  EXPECT_THAT(wrong(masked_settings(), [](HorizontalSettings& s) { s.privacy.corrupt_share = 0; }), IsEmpty());
  EXPECT_THAT(wrong(active, [](HorizontalSettings& s) { s.privacy.dropout_share = 1; }),
              ElementsAre("/privacy/dropout_share"));
  // 10 devices, 7 of which open a secret.
  EXPECT_THAT(wrong(active, [](HorizontalSettings& s) { s.privacy.dropout_share = .3; }), IsEmpty());
  EXPECT_THAT(wrong(active, [](HorizontalSettings& s) { s.privacy.dropout_share = .4; }),
              ElementsAre("/privacy/dropout_share"));
  EXPECT_THAT(wrong(masked_settings(), [](HorizontalSettings& s) { s.privacy.dropout_share = .4; }), IsEmpty());
  EXPECT_THAT(wrong(active, [](HorizontalSettings& s) { s.privacy.phase_max = Millis(99); }),
              ElementsAre("/privacy/phase_ms_max"));
  EXPECT_THAT(wrong(active, [](HorizontalSettings& s) { s.privacy.cohort_min = 1; }),
              ElementsAre("/privacy/cohort_min"));
  EXPECT_THAT(wrong(active, [](HorizontalSettings& s) { s.privacy.cohort_min = 3; }),
              ElementsAre("/rounds/goal_count_min"));
  EXPECT_THAT(wrong(active, [](HorizontalSettings& s) { s.rounds.goal_count = 10'001; }),
              ElementsAre("/rounds/goal_count"));
  // One device has nobody to hide among; without a level it need not.
  const auto alone = [](HorizontalSettings& s) { s.rounds.goal_count = s.rounds.goal_count_min = 1; };
  EXPECT_THAT(wrong(active, alone), ElementsAre("/rounds/goal_count"));
  active.privacy.level = SecurityLevel::none;
  EXPECT_THAT(wrong(active, alone), IsEmpty());
}

TEST(HorizontalSettings, CountOnATenthCorruptAgainstAnActiveServer) {
  for (const double share : {0.0, .05, .0999}) {
    HorizontalSettings settings;
    settings.privacy.corrupt_share = share;
    const Problems problems = validate(settings);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].pointer, "/privacy/corrupt_share");
    EXPECT_THAT(problems[0].detail, testing::StartsWith("must be in [0.1, 1/3] against an active server, not 0"));
  }
}

// Ten devices, nine of which open a sum; one may be corrupt.
HorizontalSettings noisy_settings() {
  HorizontalSettings settings = masked_settings();
  settings.rounds.count = 10;
  settings.rounds.goal_count = 10;
  settings.rounds.goal_count_min = 9;
  settings.update.clip_l2 = 1;
  settings.update.weight_max = 1;
  settings.privacy.level = SecurityLevel::active_dp;
  settings.privacy.cohort_min = 9;
  settings.privacy.corrupt_share = 0.1;
  settings.privacy.noise_multiplier = 3;
  settings.privacy.target_delta = 1e-5;
  settings.privacy.epsilon_budget = 8;
  return settings;
}

TEST(HorizontalSettings, NoiseOfTheDevicesNamesTheFieldThatIsWrong) {
  EXPECT_THAT(validate(noisy_settings()), IsEmpty());
  const auto wrong = [](const std::function<void(HorizontalSettings&)>& change) {
    return pointers_after(noisy_settings(), change);
  };
  EXPECT_THAT(wrong([](HorizontalSettings& s) { s.update.clip_l2 = 0; }), ElementsAre("/update/clip_l2"));
  EXPECT_THAT(wrong([](HorizontalSettings& s) { s.update.weight_max = 2; }), ElementsAre("/update/weight_max"));
  EXPECT_THAT(wrong([](HorizontalSettings& s) { s.privacy.corrupt_share = .34; }),
              ElementsAre("/privacy/corrupt_share"));
  EXPECT_THAT(wrong([](HorizontalSettings& s) {
                s.privacy.cohort_min = 3;
                s.privacy.corrupt_share = .3;
              }),
              ElementsAre("/privacy/cohort_min"));
  EXPECT_THAT(wrong([](HorizontalSettings& s) { s.privacy.level = SecurityLevel::active; }),
              ElementsAre("/privacy/noise_multiplier"));
  EXPECT_THAT(wrong([](HorizontalSettings& s) {
                s.rounds.goal_count = 256;
                s.privacy.cohort_min = s.rounds.goal_count_min = 200;
              }),
              ElementsAre("/privacy/cohort_max"));
  EXPECT_THAT(wrong([](HorizontalSettings& s) {
                s.rounds.goal_count = 256;
                s.rounds.goal_count_min = 200;
                s.privacy.cohort_min = 100;
                s.privacy.cohort_max = 255;
              }),
              IsEmpty());
}

TEST(HorizontalSettings, NoiseOfTheDevicesIsInThePlan) {
  const HorizontalSettings settings = noisy_settings();
  ASSERT_THAT(validate_with_model(settings, 2'000), IsEmpty());
  const Plan plan = plan_of(settings, JobId("j"), 2'000);
  EXPECT_OK(validate(plan));
  EXPECT_OK(check_promise(plan.privacy, 2'000));
  EXPECT_EQ(plan.privacy.encoding.contributors_max, 10u);
  EXPECT_EQ(plan.privacy.encoding.clip_norm, 1);
  EXPECT_DOUBLE_EQ(plan.privacy.delta, 1e-6) << "a tenth for each round";
  HorizontalSettings coarse = settings;
  coarse.privacy.noise_multiplier = 10'000;
  const Problems problems = validate_with_model(coarse, 200'000'000);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/privacy/noise_multiplier");
}

TEST(HorizontalSettings, ARosterClosesWithDevicesToSpare) {
  HorizontalSettings settings = masked_settings();
  settings.rounds.goal_count = 90;
  settings.rounds.over_selection = 2;
  settings.privacy.dropout_share = .1;
  EXPECT_EQ(adverts_goal(settings), 100u);
  settings.rounds.over_selection = 1.05;  // no more than there are tickets
  EXPECT_EQ(adverts_goal(settings), 95u);
}

TEST(HorizontalSettings, ARuleThatNeedsSingleUpdatesIsRefusedSayingWhy) {
  HorizontalSettings settings = masked_settings();
  for (const auto rule : {AggregationRule::median, AggregationRule::trimmed_mean, AggregationRule::krum}) {
    settings.strategy.aggregation_rule = rule;
    const Problems problems = validate(settings);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].pointer, "/strategy/aggregation_rule");
    EXPECT_THAT(problems[0].detail, testing::StartsWith(std::string(to_string(rule)) + " needs single updates"));
  }
  settings.privacy.level = SecurityLevel::none;
  EXPECT_THAT(validate(settings)[0].detail, testing::StartsWith("krum is said by aggregation.rule"));
}

TEST(HorizontalSettings, AStrategyThatNeedsSingleUpdatesIsRefusedSayingWhy) {
  StrategyRule looks_at_each = default_strategy();
  looks_at_each.name = "nosy";
  looks_at_each.needs = StrategyNeeds::updates;
  HorizontalSettings settings = masked_settings();
  settings.strategy.rule = &looks_at_each;
  const Problems problems = validate(settings);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/strategy/kind");
  EXPECT_THAT(problems[0].detail, testing::StartsWith("nosy needs single updates"));
  settings.privacy.level = SecurityLevel::none;
  EXPECT_THAT(validate(settings), IsEmpty());
}

TEST(HorizontalSettings, DevicesAreSharedOutEvenlyAmongCohorts) {
  HorizontalSettings settings = masked_settings();
  settings.rounds.goal_count = 90;
  settings.rounds.over_selection = 2;
  EXPECT_EQ(cohort_count(settings), 1u);
  EXPECT_EQ(cohort_goal(settings), 100u);
  const auto with = [&](uint32_t cohort_max) {
    settings.privacy.cohort_max = cohort_max;
    return std::pair(cohort_count(settings), cohort_goal(settings));
  };
  EXPECT_EQ(with(100), std::pair(1u, 100u));
  EXPECT_EQ(with(99), std::pair(2u, 50u));
  EXPECT_EQ(with(49), std::pair(3u, 34u)) << "two of 33, one of 34";
  EXPECT_EQ(with(2), std::pair(50u, 2u));
  const auto wrong = [&](const std::function<void(HorizontalSettings&)>& change) {
    return pointers_after(settings, change);
  };
  EXPECT_THAT(wrong([](HorizontalSettings& s) { s.privacy.cohort_max = 1; }), testing::Contains("/privacy/cohort_max"));
  EXPECT_THAT(wrong([](HorizontalSettings& s) { s.privacy.cohort_max = 10'001; }), ElementsAre("/privacy/cohort_max"));
  const auto of_49 = [](uint32_t cohort_min) {
    return [=](HorizontalSettings& s) {
      s.privacy.cohort_max = 49;
      s.rounds.goal_count_min = s.privacy.cohort_min = cohort_min;
    };
  };
  EXPECT_THAT(wrong(of_49(33)), IsEmpty());
  EXPECT_THAT(wrong(of_49(34)), ElementsAre("/privacy/cohort_min")) << "two cohorts could never open theirs";
  settings.rounds.goal_count = 20'000;
  EXPECT_THAT(wrong([](HorizontalSettings& s) { s.privacy.cohort_max = 0; }), ElementsAre("/rounds/goal_count"));
  EXPECT_THAT(wrong([](HorizontalSettings& s) { s.privacy.cohort_max = 10'000; }), IsEmpty());
  EXPECT_EQ(plan_of(settings, JobId("j"), 5).privacy.roster_max, 2u) << "a device sees to it";
}

TEST(HorizontalSettings, PlanSaysTheLevelAndNothingMoreWithoutOne) {
  HorizontalSettings plain;
  plain.privacy.level = SecurityLevel::none;
  EXPECT_EQ(plan_of(plain, JobId("j"), 5).privacy, PrivacyRules{});
  HorizontalSettings settings = masked_settings();
  settings.privacy.cohort_min = 7;
  const Plan plan = plan_of(settings, JobId("j"), 5);
  EXPECT_EQ(plan.privacy.level, SecurityLevel::masked);
  EXPECT_EQ(plan.privacy.cohort_min, 7u);
  EXPECT_OK(validate(plan));
}

TEST(HorizontalSettings, NamesTheFieldThatIsWrong) {
  using Change = std::function<void(HorizontalSettings&)>;
  const std::pair<const char*, Change> changes[] = {
      {"/training/batch_size", [](HorizontalSettings& s) { s.training.batch_size = 0; }},
      {"/training/batch_size", [](HorizontalSettings& s) { s.training.batch_size = 4097; }},
      {"/training/local_epochs", [](HorizontalSettings& s) { s.training.local_epochs = 0; }},
      {"/training/local_epochs", [](HorizontalSettings& s) { s.training.local_epochs = 1001; }},
      {"/training/optimizer/learning_rate", [](HorizontalSettings& s) { s.training.optimizer.learning_rate = 0; }},
      {"/training/optimizer/learning_rate", [](HorizontalSettings& s) { s.training.optimizer.learning_rate = -1; }},
      {"/training/optimizer/learning_rate", [](HorizontalSettings& s) { s.training.optimizer.learning_rate = 1.1e6f; }},
      {"/training/optimizer/learning_rate", [](HorizontalSettings& s) { s.training.optimizer.learning_rate = kNan; }},
      {"/training/optimizer/momentum", [](HorizontalSettings& s) { s.training.optimizer.momentum = -0.1f; }},
      {"/training/optimizer/momentum", [](HorizontalSettings& s) { s.training.optimizer.momentum = 1.1f; }},
      {"/training/optimizer/momentum", [](HorizontalSettings& s) { s.training.optimizer.momentum = kNan; }},
      {"/training/optimizer/weight_decay", [](HorizontalSettings& s) { s.training.optimizer.weight_decay = -1; }},
      {"/training/optimizer/weight_decay",
       [](HorizontalSettings& s) { s.training.optimizer.weight_decay = kInfinity; }},
      {"/rounds/count", [](HorizontalSettings& s) { s.rounds.count = 0; }},
      {"/rounds/count", [](HorizontalSettings& s) { s.rounds.count = 1'000'001; }},
      {"/rounds/goal_count", [](HorizontalSettings& s) { s.rounds.goal_count = 1'000'001; }},
      {"/rounds/goal_count_min", [](HorizontalSettings& s) { s.rounds.goal_count_min = 0; }},
      {"/rounds/goal_count_min", [](HorizontalSettings& s) { s.rounds.goal_count_min = 11; }},
      {"/rounds/over_selection", [](HorizontalSettings& s) { s.rounds.over_selection = 0.99; }},
      {"/rounds/over_selection", [](HorizontalSettings& s) { s.rounds.over_selection = 10.01; }},
      {"/rounds/pool_min", [](HorizontalSettings& s) { s.rounds.pool_min = 10'000'001; }},
      {"/rounds/selecting_ms_max", [](HorizontalSettings& s) { s.rounds.selecting_max = Millis(0); }},
      {"/rounds/selecting_ms_max", [](HorizontalSettings& s) { s.rounds.selecting_max = Millis(86'400'001); }},
      {"/rounds/collecting_ms_max", [](HorizontalSettings& s) { s.rounds.collecting_max = Millis(0); }},
      {"/rounds/retry_delay_ms", [](HorizontalSettings& s) { s.rounds.retry_delay = Millis(-1); }},
      {"/rounds/attempts_max", [](HorizontalSettings& s) { s.rounds.attempts_max = 0; }},
      {"/rounds/attempts_max", [](HorizontalSettings& s) { s.rounds.attempts_max = 1001; }},
      {"/strategy/server_learning_rate",
       [](HorizontalSettings& s) { s.strategy.value_of("server_learning_rate") = 0; }},
      {"/strategy/server_learning_rate",
       [](HorizontalSettings& s) { s.strategy.value_of("server_learning_rate") = kInfinity; }},
      {"/update/clip_l2", [](HorizontalSettings& s) { s.update.clip_l2 = -1; }},
      {"/update/clip_l2", [](HorizontalSettings& s) { s.update.clip_l2 = kNan; }},
      {"/update/value_abs_max", [](HorizontalSettings& s) { s.update.value_abs_max = 0; }},
      {"/update/value_abs_max", [](HorizontalSettings& s) { s.update.value_abs_max = kInfinity; }},
      {"/update/weight_max", [](HorizontalSettings& s) { s.update.weight_max = 0; }},
      {"/update/weight_max", [](HorizontalSettings& s) { s.update.weight_max = kWeightMax + 1; }},
      {"/update", [](HorizontalSettings& s) { s.update.value_abs_max = 3e38f; }},  // no bits are left for the fraction
  };
  for (const auto& [pointer, change] : changes) {
    EXPECT_THAT(pointers_after(HorizontalSettings(), change), ElementsAre(pointer));
  }
}

TEST(HorizontalSettings, ChecksAnOptimizersOwnSettings) {
  using Change = std::function<void(HorizontalSettings&)>;
  const std::pair<const char*, Change> changes[] = {
      {"/training/optimizer/beta1", [](HorizontalSettings& s) { s.training.optimizer.beta1 = 1; }},
      {"/training/optimizer/beta1", [](HorizontalSettings& s) { s.training.optimizer.beta1 = kNan; }},
      {"/training/optimizer/beta2", [](HorizontalSettings& s) { s.training.optimizer.beta2 = -0.1f; }},
      {"/training/optimizer/epsilon", [](HorizontalSettings& s) { s.training.optimizer.epsilon = 0; }},
      {"/training/optimizer/epsilon", [](HorizontalSettings& s) { s.training.optimizer.epsilon = 1.5f; }},
      {"/strategy/beta1", [](HorizontalSettings& s) { s.strategy.value_of("beta1") = 1; }},
      {"/strategy/beta2", [](HorizontalSettings& s) { s.strategy.value_of("beta2") = kNan; }},
      {"/strategy/tau", [](HorizontalSettings& s) { s.strategy.value_of("tau") = 0; }},
      {"/strategy/tau", [](HorizontalSettings& s) { s.strategy.value_of("tau") = kInfinity; }},
  };
  for (const auto& [pointer, change] : changes) {
    EXPECT_THAT(pointers_after(adam_settings(), change), ElementsAre(pointer));
  }
  // Adam's settings are in the plan even of an SGD job.
  EXPECT_THAT(pointers_after(HorizontalSettings(), [](HorizontalSettings& s) { s.training.optimizer.beta1 = 2; }),
              ElementsAre("/training/optimizer/beta1"));
  EXPECT_THAT(pointers_after(HorizontalSettings(), [](HorizontalSettings& s) { s.training.optimizer.epsilon = 0; }),
              IsEmpty());
}

TEST(HorizontalSettings, ReportsEverythingThatIsWrongAtOnce) {
  HorizontalSettings settings = adam_settings();
  settings.training.batch_size = 0;
  settings.training.local_epochs = 0;
  settings.training.optimizer.learning_rate = 0;
  settings.training.optimizer.momentum = 2;
  settings.training.optimizer.weight_decay = -1;
  settings.training.optimizer.beta1 = 1;
  settings.training.optimizer.beta2 = 1;
  settings.training.optimizer.epsilon = 0;
  settings.rounds = {0, 0, 0, 0.5, 20'000'000, Millis(0), Millis(0), Millis(-1), 0};
  settings.strategy.values = {0, 1, 1, 0};
  settings.update = {-1, 0, 0};
  EXPECT_THAT(pointers_of(settings), IsSupersetOf({"/training/batch_size",
                                                   "/training/local_epochs",
                                                   "/training/optimizer/learning_rate",
                                                   "/training/optimizer/momentum",
                                                   "/training/optimizer/weight_decay",
                                                   "/training/optimizer/beta1",
                                                   "/training/optimizer/beta2",
                                                   "/training/optimizer/epsilon",
                                                   "/rounds/count",
                                                   "/rounds/goal_count",
                                                   "/rounds/goal_count_min",
                                                   "/rounds/over_selection",
                                                   "/rounds/pool_min",
                                                   "/rounds/selecting_ms_max",
                                                   "/rounds/collecting_ms_max",
                                                   "/rounds/retry_delay_ms",
                                                   "/rounds/attempts_max",
                                                   "/strategy/server_learning_rate",
                                                   "/strategy/beta1",
                                                   "/strategy/beta2",
                                                   "/strategy/tau",
                                                   "/update/clip_l2",
                                                   "/update/value_abs_max",
                                                   "/update/weight_max"}));
}

TEST(HorizontalSettings, SaysWhatIsAllowedAndWhatItSaw) {
  HorizontalSettings settings;
  settings.rounds.over_selection = 0.25;
  settings.rounds.attempts_max = 5'000;
  const Problems problems = validate(settings);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].detail, "must be in [1, 10], is 0.25");
  EXPECT_EQ(problems[1].detail, "must be in [1, 1000], is 5000");
}

TEST(RoundSettings, IssueAsManyTicketsAsOverSelectionSays) {
  RoundSettings rounds;
  rounds.goal_count = 10;
  EXPECT_EQ(rounds.ticket_count(), 10u);
  rounds.over_selection = 1.25;
  EXPECT_EQ(rounds.ticket_count(), 13u) << "rounded up";
  EXPECT_EQ(rounds.pool_target(), 13u) << "as many as there are tickets";
  rounds.pool_min = 40;
  EXPECT_EQ(rounds.pool_target(), 40u);
}

// ---- The plan

TEST(PlanOf, IsAPlanThatDevicesTakeForEveryDefault) {
  for (const HorizontalSettings& settings : {HorizontalSettings(), adam_settings()}) {
    const Plan plan = plan_of(settings, JobId("j"), 1'000);
    EXPECT_OK(validate(plan));
    EXPECT_EQ(plan.job, JobId("j"));
    EXPECT_EQ(plan.training, settings.training);
    EXPECT_EQ(plan.update.value_count, 1'000u);
    EXPECT_EQ(plan.update.clip_l2, settings.update.clip_l2);
    EXPECT_EQ(plan.update.fixed_point.value_abs_max, settings.update.value_abs_max);
    EXPECT_EQ(plan.update.fixed_point.weight_max, settings.update.weight_max);
  }
}

TEST(PlanOf, LeavesRoomInTheSumForEveryoneWhoMayBeAccepted) {
  HorizontalSettings settings;
  EXPECT_EQ(plan_of(settings, JobId("j"), 1).update.fixed_point.contributors_max, 1'024u);
  settings.rounds.goal_count = 10'000;
  settings.rounds.over_selection = 2;
  EXPECT_EQ(plan_of(settings, JobId("j"), 1).update.fixed_point.contributors_max, 80'000u);
}

float some_float(Prng& prng) {
  constexpr float kEdges[] = {0, -0.0f, 1, -1, 0.5f, 0.999f, 1e-8f, 64, 1e6f, 1e9f, 3e38f, -3e38f, kInfinity, kNan};
  if (prng.chance(0.5)) return kEdges[prng.below(std::size(kEdges))];
  return static_cast<float>(prng.uniform(-0.1, 1.2));
}

// Whatever an operator writes: what the server takes must be a plan that a device takes. Half of the fields are drawn
// at random, so that many specs are almost valid.
TEST(PlanOf, IsValidWheneverTheSpecIs) {
  size_t valid = 0;
  for (uint64_t seed = 1; seed <= 5'000; ++seed) {
    Prng prng(seed);
    HorizontalSettings settings = prng.chance(0.5) ? HorizontalSettings() : adam_settings();
    if (prng.chance(0.5)) settings.strategy = {};
    OptimizerSettings& optimizer = settings.training.optimizer;
    for (float* field :
         {&optimizer.learning_rate, &optimizer.momentum, &optimizer.weight_decay, &optimizer.beta1, &optimizer.beta2,
          &optimizer.epsilon, &settings.update.clip_l2, &settings.update.value_abs_max}) {
      if (prng.chance(0.2)) *field = some_float(prng);
    }
    if (prng.chance(0.2)) settings.training.batch_size = static_cast<uint32_t>(prng.below(5'000));
    if (prng.chance(0.2)) settings.update.weight_max = static_cast<uint32_t>(prng.below(kWeightMax + 2));
    if (prng.chance(0.2)) settings.rounds.goal_count = static_cast<uint32_t>(prng.below(1'000'002));
    if (prng.chance(0.2)) settings.rounds.over_selection = prng.uniform(0.9, 10.1);
    if (!validate(settings).empty()) continue;
    ++valid;
    EXPECT_OK(validate(plan_of(settings, JobId("j"), 1 + prng.below(1ull << 32)))) << "seed " << seed;
  }
  EXPECT_GT(valid, 500u) << "the test looks at enough valid ones";
}

}  // namespace
}  // namespace coterie
