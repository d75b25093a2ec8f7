// Strategies whose devices keep state: what a job must say, and what it cannot be combined with, by name.
#include "scheduler/job/correction_rules.h"
#include "scheduler/job/scalar_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "scheduler/job/round_terms.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

HorizontalSettings feddyn() {
  HorizontalSettings settings;
  settings.strategy = StrategySettings::of("feddyn").with("population_size", 100).with("alpha", 0.25f);
  settings.update.weight_max = 1;
  settings.privacy.level = SecurityLevel::none;
  return settings;
}

Problems after(const std::function<void(HorizontalSettings&)>& change) {
  HorizontalSettings settings = feddyn();
  change(settings);
  return validate(settings);
}

void expect_refused(const char* pointer, const char* why, const std::function<void(HorizontalSettings&)>& change) {
  const Problems problems = after(change);
  ASSERT_EQ(problems.size(), 1u) << pointer;
  EXPECT_EQ(problems[0].pointer, pointer);
  EXPECT_THAT(problems[0].detail, HasSubstr(why));
}

TEST(CorrectionRules, AreInThePlanOfSuchAJobAndInNoOther) {
  ASSERT_THAT(validate(feddyn()), IsEmpty());
  const DriftCorrection expected{CorrectionKind::feddyn, 0.25f};
  EXPECT_EQ(plan_of(feddyn(), JobId("j"), 10).training.correction, expected);
  HorizontalSettings plain = feddyn();
  plain.strategy = {};
  EXPECT_EQ(plan_of(plain, JobId("j"), 10).training.correction, DriftCorrection{});
}

TEST(CorrectionRules, TakeTheLevelsThatHideUpdates) {
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::masked, SecurityLevel::active}) {
    EXPECT_THAT(after([level](HorizontalSettings& s) { s.privacy.level = level; }), IsEmpty());
  }
}

TEST(CorrectionRules, RefuseByNameWhatDoesNotGoTogether) {
  const auto population = [](float devices) {
    return [devices](HorizontalSettings& s) { s.strategy.value_of("population_size") = devices; };
  };
  expect_refused("/strategy/population_size", "how many devices", population(0));
  expect_refused("/strategy/population_size", "goal_count", population(9));
  EXPECT_THAT(after(population(10)), IsEmpty());
  expect_refused("/update/weight_max", "plain mean", [](HorizontalSettings& s) { s.update.weight_max = 2; });
  expect_refused("/training/proximal_mu", "alpha", [](HorizontalSettings& s) { s.training.proximal_mu = 0.1f; });
  expect_refused("/training/normalised_steps", "came to",
                 [](HorizontalSettings& s) { s.training.normalised_steps = 5; });
  expect_refused("/strategy/kind", "noise", [](HorizontalSettings& s) {
    s.update.clip_l2 = 1;
    s.privacy.noise_multiplier = 1;
    s.privacy.target_delta = 1e-5;
    s.privacy.epsilon_budget = 100;
  });
  expect_refused("/training/personal", "keeps one vector of a job",
                 [](HorizontalSettings& s) { s.training.personal = PersonalSettings{.parameters = {"head.*"}}; });
  expect_refused("/training/correction", "strategy", [](HorizontalSettings& s) {
    s.training.correction = {CorrectionKind::feddyn, 0.25f};
  });
}

// ---- SCAFFOLD, whose updates have a second part

HorizontalSettings scaffold() {
  HorizontalSettings settings = feddyn();
  settings.strategy = StrategySettings::of("scaffold").with("population_size", 100);
  return settings;
}

TEST(CorrectionRules, GiveScaffoldAnUpdateOfTwoParts) {
  ASSERT_THAT(validate(scaffold()), IsEmpty());
  const Plan plan = plan_of(scaffold(), JobId("j"), 10);
  EXPECT_OK(validate(plan));
  EXPECT_EQ(plan.training.correction, DriftCorrection{.kind = CorrectionKind::scaffold});
  EXPECT_EQ(plan.update.value_count, 20u);
  EXPECT_EQ(plan.update.control_value_count, 10u);
  EXPECT_EQ(plan.update.model_value_count(), 10u);
  EXPECT_EQ(plan_of(feddyn(), JobId("j"), 10).update.value_count, 10u);
}

TEST(CorrectionRules, NameTheServersControlInTheRoundsPlan) {
  const RoundFacts first{.number = 1}, later{.number = 2, .state = Digest{{7}}};
  EXPECT_EQ(terms_of(scaffold(), first).control, std::nullopt);
  EXPECT_EQ(terms_of(scaffold(), later).control, (Digest{{7}}));
  EXPECT_EQ(terms_of(feddyn(), later).control, std::nullopt) << "its devices have no use for it";
  const Plan plan = with_terms(plan_of(scaffold(), JobId("j"), 10), terms_of(scaffold(), later));
  EXPECT_EQ(plan.control, (Digest{{7}}));
  EXPECT_OK(validate(plan));
}

TEST(CorrectionRules, TakeScaffoldAtTheLevelsThatHideUpdatesAndWithAClip) {
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::masked, SecurityLevel::active}) {
    HorizontalSettings settings = scaffold();
    settings.privacy.level = level;
    settings.update.clip_l2 = 1;
    EXPECT_THAT(validate(settings), IsEmpty());
    EXPECT_OK(validate(plan_of(settings, JobId("j"), 10)));
  }
}

TEST(CorrectionRules, RefuseByNameWhatDoesNotGoWithScaffold) {
  const auto expect_refused_of_scaffold = [](const char* pointer, const char* why,
                                             const std::function<void(HorizontalSettings&)>& change) {
    expect_refused(pointer, why, [&](HorizontalSettings& s) { s = scaffold(), change(s); });
  };
  expect_refused_of_scaffold("/strategy/population_size", "goal_count",
                             [](HorizontalSettings& s) { s.strategy.value_of("population_size") = 9; });
  expect_refused_of_scaffold("/update/weight_max", "plain mean",
                             [](HorizontalSettings& s) { s.update.weight_max = 2; });
  expect_refused_of_scaffold("/training/optimizer/kind", "sgd",
                             [](HorizontalSettings& s) { s.training.optimizer.kind = OptimizerKind::adam; });
  expect_refused_of_scaffold("/training/optimizer/momentum", "mean of the gradients",
                             [](HorizontalSettings& s) { s.training.optimizer.momentum = 0.9f; });
  expect_refused_of_scaffold("/training/proximal_mu", "pull",
                             [](HorizontalSettings& s) { s.training.proximal_mu = 0.1f; });
  expect_refused_of_scaffold("/training/normalised_steps", "came to",
                             [](HorizontalSettings& s) { s.training.normalised_steps = 5; });
  expect_refused_of_scaffold("/aggregation/rule", "mean", [](HorizontalSettings& s) {
    s.aggregation = AggregationSettings::of("median");
    s.rounds.goal_count_min = s.aggregation.updates_min();
  });
  expect_refused_of_scaffold("/update/compression", "what was left of it", [](HorizontalSettings& s) {
    s.update.clip_l2 = 1;
    s.update.compression.bits = 8;
  });
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::active_dp}) {
    HorizontalSettings settings = scaffold();
    settings.privacy = {.level = level, .noise_multiplier = 1, .target_delta = 1e-5, .epsilon_budget = 100};
    settings.update.clip_l2 = 1;
    bool is_named = false;
    for (const Problem& problem : validate(settings)) {
      is_named = is_named || problem.detail.find("scaffold does not go with noise") == 0;
    }
    EXPECT_TRUE(is_named) << to_string(level);
  }
}

// ---- SCAFFOLD's option I, whose control is a gradient, and not read off steps

TEST(CorrectionRules, TakeAnyOptimizerWithScaffoldsFirstOption) {
  HorizontalSettings settings = scaffold();
  settings.strategy = settings.strategy.with("option", 1);
  settings.training.optimizer = {.kind = OptimizerKind::adam};
  settings.training.proximal_mu = 0.1f;
  EXPECT_THAT(validate(settings), IsEmpty());
  const Plan plan = plan_of(settings, JobId("j"), 10);
  EXPECT_OK(validate(plan));
  EXPECT_EQ(plan.training.correction, DriftCorrection{.kind = CorrectionKind::scaffold_gradient});
  EXPECT_EQ(plan.update.control_value_count, 10u);
  settings.strategy = settings.strategy.with("option", 3);
  EXPECT_THAT(validate(settings), testing::Contains(testing::Field(&Problem::pointer, "/strategy/option")));
}

// ---- Mime Lite, whose devices keep nothing

HorizontalSettings mime_lite() {
  HorizontalSettings settings;
  settings.strategy = StrategySettings::of("mime_lite");
  settings.privacy.level = SecurityLevel::none;
  return settings;
}

TEST(CorrectionRules, LetDevicesOfMimeLiteWeighByTheirExamples) {
  ASSERT_THAT(validate(mime_lite()), IsEmpty());
  EXPECT_GT(mime_lite().update.weight_max, 1u);
  const Plan plan = plan_of(mime_lite(), JobId("j"), 10);
  EXPECT_OK(validate(plan));
  EXPECT_EQ(plan.training.correction, DriftCorrection{.kind = CorrectionKind::mime_lite});
  EXPECT_EQ(plan.update.value_count, 20u);
  EXPECT_EQ(terms_of(mime_lite(), {.number = 2, .state = Digest{{7}}}).control, (Digest{{7}}));
}

TEST(CorrectionRules, RefuseByNameWhatDoesNotGoWithMimeLite) {
  const auto expect_refused_of_mime = [](const char* pointer, const char* why,
                                         const std::function<void(HorizontalSettings&)>& change) {
    expect_refused(pointer, why, [&](HorizontalSettings& s) { s = mime_lite(), change(s); });
  };
  expect_refused_of_mime("/training/optimizer/kind", "sgd",
                         [](HorizontalSettings& s) { s.training.optimizer.kind = OptimizerKind::adam; });
  expect_refused_of_mime("/training/optimizer/momentum", "the server's",
                         [](HorizontalSettings& s) { s.training.optimizer.momentum = 0.9f; });
  expect_refused_of_mime("/training/optimizer/weight_decay", "decay",
                         [](HorizontalSettings& s) { s.training.optimizer.weight_decay = 0.1f; });
  expect_refused_of_mime("/training/normalised_steps", "gradients alone",
                         [](HorizontalSettings& s) { s.training.normalised_steps = 5; });
  expect_refused_of_mime("/update/compression", "another size", [](HorizontalSettings& s) {
    s.update.clip_l2 = 1;
    s.update.weight_max = 1;
    s.update.compression.bits = 8;
  });
  expect_refused_of_mime("/rounds/policy", "mime_lite",
                         [](HorizontalSettings& s) { s.rounds.policy = RoundPolicyKind::buffered; });
}

// ---- Strategies whose devices tell something beside

HorizontalSettings told(const char* name) {
  HorizontalSettings settings = mime_lite();
  settings.strategy = StrategySettings::of(name);
  settings.update.weight_max = 1;
  return settings;
}

TEST(ScalarRules, AreInThePlanWithBounds) {
  HorizontalSettings fedexp = told("fedexp");
  fedexp.update.weight_max = 100;
  ASSERT_THAT(validate(fedexp), IsEmpty());
  Plan plan = plan_of(fedexp, JobId("j"), 10);
  EXPECT_OK(validate(plan));
  EXPECT_THAT(plan.update.scalars, ElementsAre(ScalarRule{ScalarKind::squared_norm, 256}));
  EXPECT_EQ(plan.update.value_count, 11u);
  EXPECT_EQ(plan.update.model_value_count(), 10u);
  EXPECT_FALSE(plan.update.fair.is_on());
  fedexp.update.clip_l2 = 2;
  EXPECT_EQ(plan_of(fedexp, JobId("j"), 10).update.scalars[0].bound, 4) << "no update of the round has more";

  HorizontalSettings qffl = told("qffl");
  qffl.strategy = qffl.strategy.with("q", 2).with("loss_max", 3);
  ASSERT_THAT(validate(qffl), IsEmpty());
  plan = plan_of(qffl, JobId("j"), 10);
  EXPECT_OK(validate(plan));
  EXPECT_THAT(plan.update.scalars, ElementsAre(ScalarRule{ScalarKind::fair_step, 1024}));
  EXPECT_EQ(plan.update.fair, (FairWeight{.q = 2, .loss_max = 3}));
  EXPECT_TRUE(plan_of(mime_lite(), JobId("j"), 10).update.scalars.empty());
}

TEST(ScalarRules, OfGroupsAreTwoForEachAndTheStateIsTheControlOfTheNextRound) {
  HorizontalSettings afl = told("afl");
  afl.strategy = afl.strategy.with("groups", 3).with("loss_max", 4);
  afl.update.weight_max = 100;
  ASSERT_THAT(validate(afl), IsEmpty());
  const ScalarRule member{ScalarKind::group_member, 1}, loss{ScalarKind::group_loss, 4};
  const Plan plan = plan_of(afl, JobId("j"), 10);
  EXPECT_OK(validate(plan));
  EXPECT_THAT(plan.update.scalars, ElementsAre(member, member, member, loss, loss, loss));
  EXPECT_EQ(plan.update.value_count, 16u);
  RoundFacts facts;
  EXPECT_FALSE(terms_of(afl, facts).control) << "of the first round";
  facts.state = Digest{.bytes = {7}};
  EXPECT_EQ(terms_of(afl, facts).control, facts.state);
  EXPECT_OK(validate(with_terms(plan, terms_of(afl, facts))));
  for (const float groups : {1.0f, 2.5f, 9.0f}) {
    expect_refused("/strategy/groups", "[2, 8]",
                   [&](HorizontalSettings& s) { s = afl, s.strategy.value_of("groups") = groups; });
  }
  expect_refused("/training/personal", "afl", [&](HorizontalSettings& s) {
    s = afl;
    s.training.personal = PersonalSettings{.kind = PersonalKind::model, .lambda = 1};
  });
}

TEST(ScalarRules, RefuseByNameWhatDoesNotGoTogether) {
  for (const char* name : {"fedexp", "qffl", "afl"}) {
    const auto expect_refused_of = [name](const char* pointer, const std::function<void(HorizontalSettings&)>& change) {
      expect_refused(pointer, name, [&](HorizontalSettings& s) { s = told(name), change(s); });
    };
    expect_refused_of("/update/compression", [](HorizontalSettings& s) {
      s.update.clip_l2 = 1;
      s.update.compression.bits = 8;
    });
    expect_refused_of("/aggregation/rule", [](HorizontalSettings& s) {
      s.aggregation = AggregationSettings::of("median");
      s.rounds.goal_count_min = s.aggregation.updates_min();
    });
    expect_refused_of("/rounds/policy", [](HorizontalSettings& s) { s.rounds.policy = RoundPolicyKind::buffered; });
    expect_refused_of("/strategy/kind", [](HorizontalSettings& s) {
      s.update.clip_l2 = 1;
      s.privacy.noise_multiplier = 1;
      s.privacy.target_delta = 1e-5;
      s.privacy.epsilon_budget = 100;
    });
  }
  expect_refused("/update/weight_max", "by their loss",
                 [](HorizontalSettings& s) { s = told("qffl"), s.update.weight_max = 2; });
  expect_refused("/training/normalised_steps", "qffl",
                 [](HorizontalSettings& s) { s = told("qffl"), s.training.normalised_steps = 5; });
  expect_refused("/strategy/loss_max", "(0, 1e6]",
                 [](HorizontalSettings& s) { s = told("qffl"), s.strategy.value_of("loss_max") = 0; });
}

}  // namespace
}  // namespace coterie
