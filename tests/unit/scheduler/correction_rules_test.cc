// Strategies whose devices keep state: what a job must say, and what it cannot be combined with, by name.
#include "scheduler/job/correction_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

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
  expect_refused("/training/correction", "strategy", [](HorizontalSettings& s) {
    s.training.correction = {CorrectionKind::feddyn, 0.25f};
  });
}

}  // namespace
}  // namespace coterie
