#include "scheduler/job/job_settings.h"

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

JobSettings valid_spec() {
  JobSettings spec;
  spec.name = "digits";
  return spec;
}

JobSettings adam_spec() {
  JobSettings spec = valid_spec();
  spec.training.optimizer.kind = OptimizerKind::adam;
  spec.strategy = StrategySettings::of("fedadam");
  return spec;
}

std::vector<std::string> pointers_of(const JobSettings& spec) {
  std::vector<std::string> pointers;
  for (const Problem& problem : validate(spec)) pointers.push_back(problem.pointer);
  return pointers;
}

std::vector<std::string> pointers_after(JobSettings spec, const std::function<void(JobSettings&)>& change) {
  change(spec);
  return pointers_of(spec);
}

TEST(JobSettings, IsValidByDefaultAndHidesUpdates) {
  EXPECT_THAT(validate(valid_spec()), IsEmpty());
  EXPECT_EQ(valid_spec().privacy.level, SecurityLevel::active);
  EXPECT_THAT(validate(adam_spec()), IsEmpty());
}

JobSettings masked_spec() {
  JobSettings spec = valid_spec();
  spec.privacy.level = SecurityLevel::masked;
  return spec;
}

TEST(JobSettings, PrivacyNamesTheFieldThatIsWrong) {
  EXPECT_THAT(validate(masked_spec()), IsEmpty());
  JobSettings active = masked_spec();
  active.privacy.level = SecurityLevel::active;
  EXPECT_THAT(validate(active), IsEmpty());
  const auto wrong = [](const JobSettings& from, const std::function<void(JobSettings&)>& change) {
    return pointers_after(from, change);
  };
  EXPECT_THAT(wrong(active, [](JobSettings& s) { s.privacy.level = SecurityLevel::active_dp; }),
              ElementsAre("/privacy/noise_multiplier"));
  EXPECT_THAT(wrong(active, [](JobSettings& s) { s.privacy.corrupt_share = .34; }),
              ElementsAre("/privacy/corrupt_share"));
  EXPECT_THAT(wrong(masked_spec(), [](JobSettings& s) { s.privacy.corrupt_share = .34; }), IsEmpty());
  EXPECT_THAT(wrong(active, [](JobSettings& s) { s.privacy.dropout_share = 1; }),
              ElementsAre("/privacy/dropout_share"));
  // 10 devices, 7 of which open a secret.
  EXPECT_THAT(wrong(active, [](JobSettings& s) { s.privacy.dropout_share = .3; }), IsEmpty());
  EXPECT_THAT(wrong(active, [](JobSettings& s) { s.privacy.dropout_share = .4; }),
              ElementsAre("/privacy/dropout_share"));
  EXPECT_THAT(wrong(masked_spec(), [](JobSettings& s) { s.privacy.dropout_share = .4; }), IsEmpty());
  EXPECT_THAT(wrong(active, [](JobSettings& s) { s.privacy.phase_max = Millis(99); }),
              ElementsAre("/privacy/phase_ms_max"));
  EXPECT_THAT(wrong(active, [](JobSettings& s) { s.privacy.cohort_min = 1; }), ElementsAre("/privacy/cohort_min"));
  EXPECT_THAT(wrong(active, [](JobSettings& s) { s.privacy.cohort_min = 3; }), ElementsAre("/rounds/goal_count_min"));
  EXPECT_THAT(wrong(active, [](JobSettings& s) { s.rounds.goal_count = 10'001; }), ElementsAre("/rounds/goal_count"));
  // One device has nobody to hide among; without a level it need not.
  const auto alone = [](JobSettings& s) { s.rounds.goal_count = s.rounds.goal_count_min = 1; };
  EXPECT_THAT(wrong(active, alone), ElementsAre("/rounds/goal_count"));
  active.privacy.level = SecurityLevel::none;
  EXPECT_THAT(wrong(active, alone), IsEmpty());
}

// Ten devices, nine of which open a sum; one may be corrupt.
JobSettings noisy_spec() {
  JobSettings spec = masked_spec();
  spec.rounds.count = 10;
  spec.rounds.goal_count = 10;
  spec.rounds.goal_count_min = 9;
  spec.update.clip_l2 = 1;
  spec.update.weight_max = 1;
  spec.privacy.level = SecurityLevel::active_dp;
  spec.privacy.cohort_min = 9;
  spec.privacy.corrupt_share = 0.1;
  spec.privacy.noise_multiplier = 3;
  spec.privacy.target_delta = 1e-5;
  spec.privacy.epsilon_budget = 8;
  return spec;
}

TEST(JobSettings, NoiseOfTheDevicesNamesTheFieldThatIsWrong) {
  EXPECT_THAT(validate(noisy_spec()), IsEmpty());
  const auto wrong = [](const std::function<void(JobSettings&)>& change) {
    return pointers_after(noisy_spec(), change);
  };
  EXPECT_THAT(wrong([](JobSettings& s) { s.update.clip_l2 = 0; }), ElementsAre("/update/clip_l2"));
  EXPECT_THAT(wrong([](JobSettings& s) { s.update.weight_max = 2; }), ElementsAre("/update/weight_max"));
  EXPECT_THAT(wrong([](JobSettings& s) { s.privacy.corrupt_share = .34; }), ElementsAre("/privacy/corrupt_share"));
  EXPECT_THAT(wrong([](JobSettings& s) {
                s.privacy.cohort_min = 3;
                s.privacy.corrupt_share = .3;
              }),
              ElementsAre("/privacy/cohort_min"));
  EXPECT_THAT(wrong([](JobSettings& s) { s.privacy.level = SecurityLevel::active; }),
              ElementsAre("/privacy/noise_multiplier"));
  EXPECT_THAT(wrong([](JobSettings& s) {
                s.rounds.goal_count = 256;
                s.privacy.cohort_min = s.rounds.goal_count_min = 200;
              }),
              ElementsAre("/privacy/cohort_max"));
  EXPECT_THAT(wrong([](JobSettings& s) {
                s.rounds.goal_count = 256;
                s.rounds.goal_count_min = 200;
                s.privacy.cohort_min = 100;
                s.privacy.cohort_max = 255;
              }),
              IsEmpty());
}

TEST(JobSettings, NoiseOfTheDevicesIsInThePlan) {
  const JobSettings spec = noisy_spec();
  ASSERT_THAT(validate_with_model(spec, 2'000), IsEmpty());
  const Plan plan = plan_of(spec, JobId("j"), 2'000);
  EXPECT_OK(validate(plan));
  EXPECT_OK(check_promise(plan.privacy, 2'000));
  EXPECT_EQ(plan.privacy.encoding.contributors_max, 10u);
  EXPECT_EQ(plan.privacy.encoding.clip_norm, 1);
  EXPECT_DOUBLE_EQ(plan.privacy.delta, 1e-6) << "a tenth for each round";
  JobSettings coarse = spec;
  coarse.privacy.noise_multiplier = 10'000;
  const Problems problems = validate_with_model(coarse, 200'000'000);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/privacy/noise_multiplier");
}

TEST(JobSettings, ARosterClosesWithDevicesToSpare) {
  JobSettings spec = masked_spec();
  spec.rounds.goal_count = 90;
  spec.rounds.over_selection = 2;
  spec.privacy.dropout_share = .1;
  EXPECT_EQ(adverts_goal(spec), 100u);
  spec.rounds.over_selection = 1.05;  // no more than there are tickets
  EXPECT_EQ(adverts_goal(spec), 95u);
}

TEST(JobSettings, ARuleThatNeedsSingleUpdatesIsRefusedSayingWhy) {
  JobSettings spec = masked_spec();
  for (const auto rule : {AggregationRule::median, AggregationRule::trimmed_mean, AggregationRule::krum}) {
    spec.strategy.aggregation_rule = rule;
    const Problems problems = validate(spec);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].pointer, "/strategy/aggregation_rule");
    EXPECT_THAT(problems[0].detail, testing::StartsWith(std::string(to_string(rule)) + " needs single updates"));
  }
  spec.privacy.level = SecurityLevel::none;
  EXPECT_THAT(validate(spec)[0].detail, testing::StartsWith("krum is not there yet"));
}

TEST(JobSettings, AStrategyThatNeedsSingleUpdatesIsRefusedSayingWhy) {
  StrategyRule looks_at_each = default_strategy();
  looks_at_each.name = "nosy";
  looks_at_each.needs = StrategyNeeds::updates;
  JobSettings spec = masked_spec();
  spec.strategy.rule = &looks_at_each;
  const Problems problems = validate(spec);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/strategy/kind");
  EXPECT_THAT(problems[0].detail, testing::StartsWith("nosy needs single updates"));
  spec.privacy.level = SecurityLevel::none;
  EXPECT_THAT(validate(spec), IsEmpty());
}

TEST(JobSettings, DevicesAreSharedOutEvenlyAmongCohorts) {
  JobSettings spec = masked_spec();
  spec.rounds.goal_count = 90;
  spec.rounds.over_selection = 2;
  EXPECT_EQ(cohort_count(spec), 1u);
  EXPECT_EQ(cohort_goal(spec), 100u);
  const auto with = [&](uint32_t cohort_max) {
    spec.privacy.cohort_max = cohort_max;
    return std::pair(cohort_count(spec), cohort_goal(spec));
  };
  EXPECT_EQ(with(100), std::pair(1u, 100u));
  EXPECT_EQ(with(99), std::pair(2u, 50u));
  EXPECT_EQ(with(49), std::pair(3u, 34u)) << "two of 33, one of 34";
  EXPECT_EQ(with(2), std::pair(50u, 2u));
  const auto wrong = [&](const std::function<void(JobSettings&)>& change) { return pointers_after(spec, change); };
  EXPECT_THAT(wrong([](JobSettings& s) { s.privacy.cohort_max = 1; }), testing::Contains("/privacy/cohort_max"));
  EXPECT_THAT(wrong([](JobSettings& s) { s.privacy.cohort_max = 10'001; }), ElementsAre("/privacy/cohort_max"));
  const auto of_49 = [](uint32_t cohort_min) {
    return [=](JobSettings& s) {
      s.privacy.cohort_max = 49;
      s.rounds.goal_count_min = s.privacy.cohort_min = cohort_min;
    };
  };
  EXPECT_THAT(wrong(of_49(33)), IsEmpty());
  EXPECT_THAT(wrong(of_49(34)), ElementsAre("/privacy/cohort_min")) << "two cohorts could never open theirs";
  spec.rounds.goal_count = 20'000;
  EXPECT_THAT(wrong([](JobSettings& s) { s.privacy.cohort_max = 0; }), ElementsAre("/rounds/goal_count"));
  EXPECT_THAT(wrong([](JobSettings& s) { s.privacy.cohort_max = 10'000; }), IsEmpty());
  EXPECT_EQ(plan_of(spec, JobId("j"), 5).privacy.roster_max, 2u) << "a device sees to it";
}

TEST(JobSettings, PlanSaysTheLevelAndNothingMoreWithoutOne) {
  JobSettings plain = valid_spec();
  plain.privacy.level = SecurityLevel::none;
  EXPECT_EQ(plan_of(plain, JobId("j"), 5).privacy, PrivacyRules{});
  JobSettings spec = masked_spec();
  spec.privacy.cohort_min = 7;
  const Plan plan = plan_of(spec, JobId("j"), 5);
  EXPECT_EQ(plan.privacy.level, SecurityLevel::masked);
  EXPECT_EQ(plan.privacy.cohort_min, 7u);
  EXPECT_OK(validate(plan));
}

TEST(JobSettings, NamesTheFieldThatIsWrong) {
  using Change = std::function<void(JobSettings&)>;
  const std::pair<const char*, Change> changes[] = {
      {"/name", [](JobSettings& s) { s.name = ""; }},
      {"/name", [](JobSettings& s) { s.name = std::string(129, 'n'); }},
      {"/population", [](JobSettings& s) { s.population = Population(""); }},
      {"/population", [](JobSettings& s) { s.population = Population(std::string(65, 'p')); }},
      {"/training/batch_size", [](JobSettings& s) { s.training.batch_size = 0; }},
      {"/training/batch_size", [](JobSettings& s) { s.training.batch_size = 4097; }},
      {"/training/local_epochs", [](JobSettings& s) { s.training.local_epochs = 0; }},
      {"/training/local_epochs", [](JobSettings& s) { s.training.local_epochs = 1001; }},
      {"/training/optimizer/learning_rate", [](JobSettings& s) { s.training.optimizer.learning_rate = 0; }},
      {"/training/optimizer/learning_rate", [](JobSettings& s) { s.training.optimizer.learning_rate = -1; }},
      {"/training/optimizer/learning_rate", [](JobSettings& s) { s.training.optimizer.learning_rate = 1.1e6f; }},
      {"/training/optimizer/learning_rate", [](JobSettings& s) { s.training.optimizer.learning_rate = kNan; }},
      {"/training/optimizer/momentum", [](JobSettings& s) { s.training.optimizer.momentum = -0.1f; }},
      {"/training/optimizer/momentum", [](JobSettings& s) { s.training.optimizer.momentum = 1.1f; }},
      {"/training/optimizer/momentum", [](JobSettings& s) { s.training.optimizer.momentum = kNan; }},
      {"/training/optimizer/weight_decay", [](JobSettings& s) { s.training.optimizer.weight_decay = -1; }},
      {"/training/optimizer/weight_decay", [](JobSettings& s) { s.training.optimizer.weight_decay = kInfinity; }},
      {"/rounds/count", [](JobSettings& s) { s.rounds.count = 0; }},
      {"/rounds/count", [](JobSettings& s) { s.rounds.count = 1'000'001; }},
      {"/rounds/goal_count", [](JobSettings& s) { s.rounds.goal_count = 1'000'001; }},
      {"/rounds/goal_count_min", [](JobSettings& s) { s.rounds.goal_count_min = 0; }},
      {"/rounds/goal_count_min", [](JobSettings& s) { s.rounds.goal_count_min = 11; }},
      {"/rounds/over_selection", [](JobSettings& s) { s.rounds.over_selection = 0.99; }},
      {"/rounds/over_selection", [](JobSettings& s) { s.rounds.over_selection = 10.01; }},
      {"/rounds/pool_min", [](JobSettings& s) { s.rounds.pool_min = 10'000'001; }},
      {"/rounds/selecting_ms_max", [](JobSettings& s) { s.rounds.selecting_max = Millis(0); }},
      {"/rounds/selecting_ms_max", [](JobSettings& s) { s.rounds.selecting_max = Millis(86'400'001); }},
      {"/rounds/collecting_ms_max", [](JobSettings& s) { s.rounds.collecting_max = Millis(0); }},
      {"/rounds/retry_delay_ms", [](JobSettings& s) { s.rounds.retry_delay = Millis(-1); }},
      {"/rounds/attempts_max", [](JobSettings& s) { s.rounds.attempts_max = 0; }},
      {"/rounds/attempts_max", [](JobSettings& s) { s.rounds.attempts_max = 1001; }},
      {"/strategy/server_learning_rate", [](JobSettings& s) { s.strategy.value_of("server_learning_rate") = 0; }},
      {"/strategy/server_learning_rate",
       [](JobSettings& s) { s.strategy.value_of("server_learning_rate") = kInfinity; }},
      {"/update/clip_l2", [](JobSettings& s) { s.update.clip_l2 = -1; }},
      {"/update/clip_l2", [](JobSettings& s) { s.update.clip_l2 = kNan; }},
      {"/update/value_abs_max", [](JobSettings& s) { s.update.value_abs_max = 0; }},
      {"/update/value_abs_max", [](JobSettings& s) { s.update.value_abs_max = kInfinity; }},
      {"/update/weight_max", [](JobSettings& s) { s.update.weight_max = 0; }},
      {"/update/weight_max", [](JobSettings& s) { s.update.weight_max = kWeightMax + 1; }},
      {"/update", [](JobSettings& s) { s.update.value_abs_max = 3e38f; }},  // no bits are left for the fraction
  };
  for (const auto& [pointer, change] : changes) {
    EXPECT_THAT(pointers_after(valid_spec(), change), ElementsAre(pointer));
  }
}

TEST(JobSettings, ChecksAnOptimizersOwnSettings) {
  using Change = std::function<void(JobSettings&)>;
  const std::pair<const char*, Change> changes[] = {
      {"/training/optimizer/beta1", [](JobSettings& s) { s.training.optimizer.beta1 = 1; }},
      {"/training/optimizer/beta1", [](JobSettings& s) { s.training.optimizer.beta1 = kNan; }},
      {"/training/optimizer/beta2", [](JobSettings& s) { s.training.optimizer.beta2 = -0.1f; }},
      {"/training/optimizer/epsilon", [](JobSettings& s) { s.training.optimizer.epsilon = 0; }},
      {"/training/optimizer/epsilon", [](JobSettings& s) { s.training.optimizer.epsilon = 1.5f; }},
      {"/strategy/beta1", [](JobSettings& s) { s.strategy.value_of("beta1") = 1; }},
      {"/strategy/beta2", [](JobSettings& s) { s.strategy.value_of("beta2") = kNan; }},
      {"/strategy/tau", [](JobSettings& s) { s.strategy.value_of("tau") = 0; }},
      {"/strategy/tau", [](JobSettings& s) { s.strategy.value_of("tau") = kInfinity; }},
  };
  for (const auto& [pointer, change] : changes) {
    EXPECT_THAT(pointers_after(adam_spec(), change), ElementsAre(pointer));
  }
  // Adam's settings are in the plan even of an SGD job.
  EXPECT_THAT(pointers_after(valid_spec(), [](JobSettings& s) { s.training.optimizer.beta1 = 2; }),
              ElementsAre("/training/optimizer/beta1"));
  EXPECT_THAT(pointers_after(valid_spec(), [](JobSettings& s) { s.training.optimizer.epsilon = 0; }), IsEmpty());
}

TEST(JobSettings, ReportsEverythingThatIsWrongAtOnce) {
  JobSettings spec = adam_spec();
  spec.name = "";
  spec.population = Population("");
  spec.training.batch_size = 0;
  spec.training.local_epochs = 0;
  spec.training.optimizer.learning_rate = 0;
  spec.training.optimizer.momentum = 2;
  spec.training.optimizer.weight_decay = -1;
  spec.training.optimizer.beta1 = 1;
  spec.training.optimizer.beta2 = 1;
  spec.training.optimizer.epsilon = 0;
  spec.rounds = {0, 0, 0, 0.5, 20'000'000, Millis(0), Millis(0), Millis(-1), 0};
  spec.strategy.values = {0, 1, 1, 0};
  spec.update = {-1, 0, 0};
  EXPECT_THAT(pointers_of(spec), IsSupersetOf({"/name",
                                               "/population",
                                               "/training/batch_size",
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

TEST(JobSettings, SaysWhatIsAllowedAndWhatItSaw) {
  JobSettings spec = valid_spec();
  spec.rounds.over_selection = 0.25;
  spec.rounds.attempts_max = 5'000;
  const Problems problems = validate(spec);
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
  for (const JobSettings& spec : {valid_spec(), adam_spec()}) {
    const Plan plan = plan_of(spec, JobId("j"), 1'000);
    EXPECT_OK(validate(plan));
    EXPECT_EQ(plan.job, JobId("j"));
    EXPECT_EQ(plan.training, spec.training);
    EXPECT_EQ(plan.update.value_count, 1'000u);
    EXPECT_EQ(plan.update.clip_l2, spec.update.clip_l2);
    EXPECT_EQ(plan.update.fixed_point.value_abs_max, spec.update.value_abs_max);
    EXPECT_EQ(plan.update.fixed_point.weight_max, spec.update.weight_max);
  }
}

TEST(PlanOf, LeavesRoomInTheSumForEveryoneWhoMayBeAccepted) {
  JobSettings spec = valid_spec();
  EXPECT_EQ(plan_of(spec, JobId("j"), 1).update.fixed_point.contributors_max, 1'024u);
  spec.rounds.goal_count = 10'000;
  spec.rounds.over_selection = 2;
  EXPECT_EQ(plan_of(spec, JobId("j"), 1).update.fixed_point.contributors_max, 80'000u);
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
    JobSettings spec = prng.chance(0.5) ? valid_spec() : adam_spec();
    if (prng.chance(0.5)) spec.strategy = {};
    OptimizerSettings& optimizer = spec.training.optimizer;
    for (float* field : {&optimizer.learning_rate, &optimizer.momentum, &optimizer.weight_decay, &optimizer.beta1,
                         &optimizer.beta2, &optimizer.epsilon, &spec.update.clip_l2, &spec.update.value_abs_max}) {
      if (prng.chance(0.2)) *field = some_float(prng);
    }
    if (prng.chance(0.2)) spec.training.batch_size = static_cast<uint32_t>(prng.below(5'000));
    if (prng.chance(0.2)) spec.update.weight_max = static_cast<uint32_t>(prng.below(kWeightMax + 2));
    if (prng.chance(0.2)) spec.rounds.goal_count = static_cast<uint32_t>(prng.below(1'000'002));
    if (prng.chance(0.2)) spec.rounds.over_selection = prng.uniform(0.9, 10.1);
    if (!validate(spec).empty()) continue;
    ++valid;
    EXPECT_OK(validate(plan_of(spec, JobId("j"), 1 + prng.below(1ull << 32)))) << "seed " << seed;
  }
  EXPECT_GT(valid, 500u) << "the test looks at enough valid ones";
}

}  // namespace
}  // namespace coterie
