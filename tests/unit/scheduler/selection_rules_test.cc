#include "scheduler/job/selection_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "scheduler/selection/selection_registry.h"

namespace coterie {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

HorizontalSettings choosing(std::string_view rule) {
  HorizontalSettings settings;
  settings.privacy.level = SecurityLevel::none;
  settings.rounds.selection = SelectionSettings::of(rule);
  return settings;
}

void expect_no_choice_with(std::string_view words, const std::function<void(HorizontalSettings&)>& change) {
  for (const std::string rule : {"power_of_choice", "utility"}) {
    HorizontalSettings settings = choosing(rule);
    change(settings);
    EXPECT_THAT(validate(settings),
                Contains(Field(&Problem::detail, HasSubstr(rule + " does not go with " + std::string(words)))));
  }
}

TEST(SelectionRules, GoWithLevelNone) {
  for (const SelectionRule* rule : selection_rules()) {
    EXPECT_THAT(validate(choosing(rule->name)), IsEmpty()) << rule->name;
    HorizontalSettings settings = choosing(rule->name);
    settings.rounds.separation_min = 3;
    settings.rounds.over_selection = 1.3;
    settings.update.clip_l2 = 1;
    EXPECT_THAT(validate(settings), IsEmpty()) << rule->name;
  }
}

TEST(SelectionRules, RefuseByName) {
  expect_no_choice_with("privacy.level masked", [](auto& s) { s.privacy.level = SecurityLevel::masked; });
  expect_no_choice_with("privacy.level active", [](auto& s) { s.privacy.level = SecurityLevel::active; });
  expect_no_choice_with("privacy.level active_dp", [](auto& s) { s.privacy.level = SecurityLevel::active_dp; });
  expect_no_choice_with("privacy.noise_multiplier", [](auto& s) { s.privacy.noise_multiplier = 1; });
  expect_no_choice_with("rounds.policy buffered", [](auto& s) { s.rounds.policy = RoundPolicyKind::buffered; });
  expect_no_choice_with("aggregation.rule median", [](auto& s) { s.aggregation = AggregationSettings::of("median"); });
}

TEST(SelectionRules, HaveRanges) {
  for (const SelectionRule* rule : selection_rules()) {
    for (const SelectionSetting& setting : rule->settings) {
      for (const float value : {-1.0f, 1e9f, std::nanf("")}) {
        HorizontalSettings settings = choosing(rule->name);
        settings.rounds.selection = settings.rounds.selection.with(setting.name, value);
        EXPECT_THAT(validate(settings), Contains(Field(&Problem::pointer, std::string("/selection/") + setting.name)));
      }
    }
  }
}

TEST(SelectionRules, HaveABalanceAtEveryLevel) {
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::masked, SecurityLevel::active}) {
    HorizontalSettings settings = choosing("balanced");
    settings.privacy.level = level;
    settings.aggregation = AggregationSettings::of(level == SecurityLevel::none ? "median" : "mean");
    if (level == SecurityLevel::none) settings.update.weight_max = 1;
    settings.rounds.goal_count_min = 5;
    EXPECT_THAT(validate(settings), IsEmpty());
    settings.rounds.policy = RoundPolicyKind::buffered;
    EXPECT_THAT(validate(settings), Contains(Field(&Problem::detail, HasSubstr("balanced does not go with"))));
  }
}

// A round waits for the devices that its rule chooses among.
TEST(SelectionRules, SayForHowManyARoundWaits) {
  RoundSettings rounds = choosing("power_of_choice").rounds;
  rounds.goal_count = 10;
  rounds.over_selection = 1.3;
  rounds.selection = rounds.selection.with("candidates_ratio", 2.5f);
  EXPECT_EQ(rounds.pool_target(), 33u);  // 32.5, of 13 tickets
  rounds.pool_min = 20;
  EXPECT_EQ(rounds.pool_target(), 20u);
  rounds.pool_min = 0;
  rounds.selection = SelectionSettings();
  EXPECT_EQ(rounds.pool_target(), 13u);
}

}  // namespace
}  // namespace coterie
