#include "scheduler/job/aggregation_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace coterie {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

auto problem(const std::string& pointer, const std::string& words) {
  return AllOf(Field(&Problem::pointer, pointer), Field(&Problem::detail, HasSubstr(words)));
}

HorizontalSettings settings_of(const AggregationSettings& aggregation) {
  HorizontalSettings settings;
  settings.privacy.level = SecurityLevel::none;
  settings.update.weight_max = 1;
  settings.rounds.goal_count = settings.rounds.goal_count_min = 25;
  settings.aggregation = aggregation;
  return settings;
}

Problems problems_after(const std::function<void(HorizontalSettings&)>& change, const char* rule = "trimmed_mean") {
  HorizontalSettings settings = settings_of(AggregationSettings::of(rule));
  change(settings);
  return validate(settings);
}

TEST(AggregationRules, EveryRuleGoesWithALevelThatShowsUpdates) {
  for (const std::string_view name : aggregation_names()) {
    EXPECT_THAT(validate(settings_of(AggregationSettings::of(name))), IsEmpty()) << name;
  }
}

// 25 devices in 5 cohorts of 5.
HorizontalSettings cohorts_of(const AggregationSettings& aggregation, SecurityLevel level = SecurityLevel::masked) {
  HorizontalSettings settings = settings_of(aggregation);
  settings.privacy.level = level;
  settings.privacy.cohort_min = 4;
  settings.privacy.cohort_max = 5;
  settings.privacy.dropout_share = 0;
  return settings;
}

TEST(AggregationRules, WhereMasksHideUpdatesTheyCompareCohorts) {
  for (const SecurityLevel level : {SecurityLevel::masked, SecurityLevel::active}) {
    for (const char* rule : {"median", "trimmed_mean", "geometric_median", "centred_clip", "krum", "multi_krum"}) {
      const HorizontalSettings settings = cohorts_of(AggregationSettings::of(rule), level);
      EXPECT_THAT(validate(settings), IsEmpty()) << rule;
      EXPECT_TRUE(compares_cohorts(settings));
    }
  }
  EXPECT_FALSE(compares_cohorts(settings_of(AggregationSettings::of("median"))));
  EXPECT_FALSE(compares_cohorts(cohorts_of(AggregationSettings())));
}

TEST(AggregationRules, SayHowManyCohortsTheyNeed) {
  EXPECT_THAT(validate(cohorts_of(AggregationSettings::of("bulyan"))),
              ElementsAre(problem("/privacy/cohort_max", "at least 7 with bulyan (4 liars_max + 3)"),
                          problem("/rounds/goal_count_min", "at least 28 with bulyan")));
  HorizontalSettings one = cohorts_of(AggregationSettings::of("geometric_median"));
  one.privacy.cohort_max = 0;
  EXPECT_THAT(validate(one), ElementsAre(problem("/privacy/cohort_max", "there would be 1")));
  HorizontalSettings thin = cohorts_of(AggregationSettings::of("geometric_median"));
  thin.rounds.goal_count_min = 11;
  EXPECT_THAT(validate(thin), ElementsAre(problem("/rounds/goal_count_min", "at least 12 with geometric_median")));
}

TEST(AggregationRules, NoneGoesWithNoiseOfTheDevices) {
  HorizontalSettings settings = cohorts_of(AggregationSettings::of("median"), SecurityLevel::active_dp);
  settings.privacy.noise_multiplier = 1;
  settings.privacy.target_delta = 1e-6;
  settings.privacy.epsilon_budget = 8;
  settings.update.clip_l2 = 1;
  EXPECT_THAT(validate(settings), testing::Contains(problem("/aggregation/rule", "median does not go with")));
}

TEST(AggregationRules, SumsOfCohortsTakeEightBytesAValue) {
  const HorizontalSettings settings = cohorts_of(AggregationSettings::of("median"));
  EXPECT_THAT(validate_kept_updates(settings, 40'000'000), IsEmpty());
  EXPECT_THAT(validate_kept_updates(settings, 45'000'000), ElementsAre(problem("/rounds/goal_count", "16384 MiB")));
  EXPECT_EQ(plan_of(settings, JobId("j"), 10).update.fixed_point.contributors_max, 1024u) << "as of any masked sum";
}

TEST(AggregationRules, ComparingAllPairsOfCohortsIsCheap) {
  HorizontalSettings settings = cohorts_of(AggregationSettings::of("krum"));
  settings.rounds.goal_count = settings.rounds.goal_count_min = 500;
  settings.privacy.cohort_max = 50;
  EXPECT_THAT(validate_kept_updates(settings, 1'000'000), IsEmpty());
}

TEST(AggregationRules, NoneGoesWithNoise) {
  const auto noisy = [](HorizontalSettings& settings) {
    settings.privacy.noise_multiplier = 1;
    settings.privacy.target_delta = 1e-6;
    settings.privacy.epsilon_budget = 8;
    settings.update.clip_l2 = 1;
  };
  EXPECT_THAT(problems_after(noisy), ElementsAre(problem("/aggregation/rule", "does not go with noise")));
}

TEST(AggregationRules, WeightsGoWithThoseThatWeigh) {
  const auto weighted = [](HorizontalSettings& settings) { settings.update.weight_max = 2; };
  EXPECT_THAT(problems_after(weighted), ElementsAre(problem("/update/weight_max", "counts every update once")));
  EXPECT_THAT(problems_after(weighted, "geometric_median"), IsEmpty());
}

TEST(AggregationRules, PooledStatisticsAreAMean) {
  EXPECT_THAT(problems_after([](HorizontalSettings& s) { s.strategy.statistics = Statistics::pooled; }),
              ElementsAre(problem("/strategy/statistics", "pooled statistics are a mean")));
}

TEST(AggregationRules, SayHowManyUpdatesTheyNeedForSoManyLiars) {
  EXPECT_THAT(validate(settings_of(AggregationSettings::of("bulyan").with("liars_max", 5))), IsEmpty()) << "23 of 25";
  EXPECT_THAT(validate(settings_of(AggregationSettings::of("bulyan").with("liars_max", 6))),
              ElementsAre(problem("/rounds/goal_count", "at least 27 with bulyan (4 liars_max + 3)"),
                          problem("/rounds/goal_count_min", "at least 27")));
  EXPECT_THAT(problems_after([](HorizontalSettings& s) { s.rounds.goal_count_min = 2; }),
              ElementsAre(problem("/rounds/goal_count_min", "at least 3")));
  EXPECT_THAT(validate(settings_of(AggregationSettings::of("krum").with("liars_max", 0.5f))),
              ElementsAre(problem("/aggregation/liars_max", "whole number")));
}

// Half of the values are those of the liars: nothing would be left of a trimmed mean.
TEST(AggregationRules, ATrimmedMeanOfNothingIsRefused) {
  EXPECT_THAT(validate(settings_of(AggregationSettings::of("trimmed_mean").with("liars_max", 13))),
              testing::Contains(problem("/rounds/goal_count", "at least 27")));
}

TEST(AggregationRules, WhatIsKeptHasLimits) {
  EXPECT_THAT(problems_after([](HorizontalSettings& s) { s.rounds.goal_count = 513; }),
              ElementsAre(problem("/rounds/goal_count", "at most 512 tickets")));
  const HorizontalSettings settings = settings_of(AggregationSettings::of("median"));
  EXPECT_EQ(kept_updates_max(settings.rounds), 50u);
  EXPECT_THAT(validate_kept_updates(settings, 80'000'000), IsEmpty());
  EXPECT_THAT(validate_kept_updates(settings, 90'000'000), ElementsAre(problem("/rounds/goal_count", "16384 MiB")));
  EXPECT_THAT(validate_kept_updates(HorizontalSettings(), 90'000'000), IsEmpty()) << "a mean keeps nothing";
}

TEST(AggregationRules, ComparingAllPairsHasALimitOfItsOwn) {
  const auto validated = [](const char* rule, uint64_t values) {
    HorizontalSettings settings = settings_of(AggregationSettings::of(rule));
    settings.rounds.goal_count = 500;
    return validate_kept_updates(settings, values);
  };
  EXPECT_THAT(validated("median", 1'000'000), IsEmpty());
  EXPECT_THAT(validated("krum", 1'000'000),
              ElementsAre(problem("/rounds/goal_count", "compares each update with each")));
  EXPECT_THAT(validated("krum", 100'000), IsEmpty());
}

TEST(AggregationRules, APlanCountsWhatARoundMayKeep) {
  const HorizontalSettings settings = settings_of(AggregationSettings::of("median"));
  EXPECT_EQ(plan_of(settings, JobId("j"), 10).update.fixed_point.contributors_max, 50u);
}

}  // namespace
}  // namespace coterie
