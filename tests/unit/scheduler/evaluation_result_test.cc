// What tables of devices that evaluate models say, against what is known of the devices.
#include "scheduler/job/evaluation_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "proto/messages/evaluation_lanes.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/horizontal_settings.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

AnalyticsSettings evaluating(size_t models = 1, uint32_t score_bins = 64) {
  AnalyticsSettings analytics;
  analytics.rules = {.kind = AnalyticsKind::evaluation,
                     .input_values = 4,
                     .values_max = 64,
                     .lane_max = evaluation_lane_max(64),
                     .evaluation = EvaluationRules{.models = {}, .score_bins = score_bins, .harm_max = 1}};
  analytics.classes = {"no", "yes"};
  for (size_t i = 0; i < models; ++i) {
    analytics.rules.evaluation->models.push_back({Digest{{static_cast<uint8_t>(i + 1)}}, 9});
  }
  return analytics;
}

// The sums of devices that have `n` examples each and `y` of them right.
struct Sums : RatioSums {
  void add(double own_n, double own_y) {
    ++devices;
    n += own_n, y += own_y, nn += own_n * own_n, ny += own_n * own_y, yy += own_y * own_y;
  }
};

// Devices of 1 to 40 examples whose accuracies differ: of 1,000 draws of 200 devices the interval holds in 950, about,
// and one that takes examples for draws in far fewer.
TEST(EvaluationResult, IntervalsHoldAsOftenAsTheySay) {
  Prng prng(7);
  constexpr double kSpread = 0.15, kMean = 0.78;
  int held = 0, naive = 0;
  for (int draw = 0; draw < 1'000; ++draw) {
    Sums sums;
    for (int device = 0; device < 200; ++device) {
      const auto n = static_cast<double>(1 + prng.below(40));
      const double own = kMean + (prng.chance(0.5) ? kSpread : -kSpread);
      double y = 0;
      for (double i = 0; i < n; ++i) y += prng.chance(own) ? 1 : 0;
      sums.add(n, y);
    }
    const auto estimate = ratio_estimate(sums, 0, 1);
    held += *estimate->low <= kMean && kMean <= *estimate->high;
    const double error = 1.96 * std::sqrt(estimate->value * (1 - estimate->value) / sums.n);
    naive += std::abs(estimate->value - kMean) <= error;
  }
  EXPECT_GE(held, 930);
  EXPECT_LE(held, 970);
  EXPECT_LT(naive, 850);
  RecordProperty("held", held);
}

TEST(EvaluationResult, HaveNoIntervalWhereNothingTellsHowFarDevicesDiffer) {
  Sums sums;
  EXPECT_EQ(ratio_estimate(sums, 0, 1), std::nullopt);
  sums.add(3, 3), sums.add(5, 1);
  EXPECT_FALSE(ratio_estimate(sums, 0, 1)->low) << "two devices";
  sums.add(4, 2);
  // Three differ from n / 2 by 1.5, -1.5 and 0; Student's t of 2 degrees is 4.303 in any table.
  const auto three = ratio_estimate(sums, -9, 9);
  ASSERT_TRUE(three->low);
  EXPECT_NEAR(*three->high - three->value, 4.303 * std::sqrt(1.5 * 4.5) / 12, 1e-12);
  Sums four = sums;
  four.add(4, 2);
  four.devices -= 1e-7;  // as a sum of float32 tells four
  const auto told = ratio_estimate(four, -9, 9);
  EXPECT_NEAR(*told->high - told->value, 3.182 * std::sqrt(4.0 / 3 * 4.5) / 16, 1e-6);
  Sums alike;
  for (int i = 0; i < 9; ++i) alike.add(7, 7);
  EXPECT_EQ(ratio_estimate(alike, 0, 1)->value, 1);
  EXPECT_FALSE(ratio_estimate(alike, 0, 1)->low) << "all of them have all right";
}

// Scores of both classes: the exact area over all pairs lies between the bounds, and more bins bring these together.
TEST(EvaluationResult, TheAreaUnderTheCurveLiesBetweenItsBounds) {
  double width_before = 1;
  for (const uint32_t bins : {4u, 64u, 1024u}) {
    Prng prng(3);
    const AnalyticsSettings analytics = evaluating(1, bins);
    const EvaluationLayout layout(rules_of(analytics));
    std::vector<float> table(layout.lanes());
    std::vector<double> own, others;
    for (int i = 0; i < 600; ++i) {
      const bool is_own = prng.chance(0.3);
      const double score = std::clamp(0.4 + 0.2 * (is_own ? 1 : 0) + 0.2 * prng.normal(), 0.0, 0.999);
      (is_own ? own : others).push_back(score);
      ++table[layout.score(0, 0, is_own, static_cast<uint32_t>(score * bins))];
    }
    double pairs = 0;
    for (const double a : own) {
      for (const double b : others) pairs += a > b ? 1 : a == b ? 0.5 : 0;
    }
    const double exact = pairs / static_cast<double>(own.size() * others.size());
    const EvaluationResult result = evaluation_result_of(analytics, table);
    ASSERT_EQ(result.models[0].areas.size(), 1u);
    const AreaUnderCurve& area = result.models[0].areas[0];
    EXPECT_EQ(area.of_class, "yes");
    EXPECT_LE(area.low, exact);
    EXPECT_GE(area.high, exact);
    EXPECT_LT(area.high - area.low, width_before);
    width_before = area.high - area.low;
  }
  EXPECT_LT(width_before, 0.01);
}

// Names say how many classes there are, in the settings as they are read.
TEST(EvaluationResult, HasARowForEachClassThatIsNamed) {
  AnalyticsSettings analytics = evaluating();
  analytics.classes = {"low", "mid", "high"};
  const EvaluationLayout layout(rules_of(analytics));
  std::vector<float> table(layout.lanes());
  table[layout.confusion(0, 2, 1)] = 5;
  table[layout.score(0, 2, true, 3)] = 5;
  table[layout.score(0, 2, false, 2)] = 4;
  const EvaluationResult result = evaluation_result_of(analytics, table);
  const std::vector<std::vector<double>> rows = {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 5, 0, 0}};
  EXPECT_EQ(result.models[0].confusion, rows);
  ASSERT_EQ(result.models[0].areas.size(), 1u) << "the others have no examples";
  EXPECT_EQ(result.models[0].areas[0].of_class, "high");
  EXPECT_EQ(result.models[0].areas[0].low, 1);
}

TEST(EvaluationResult, TellsWhereTheWorstTenthOfTheDevicesIs) {
  const AnalyticsSettings analytics = evaluating();
  const EvaluationLayout layout(rules_of(analytics));
  std::vector<float> table(layout.lanes());
  EXPECT_FALSE(evaluation_result_of(analytics, table).models[0].worst_tenth);
  table[layout.accuracy(0, 3)] = 2 * layout.device_unit();
  table[layout.accuracy(0, 9)] = layout.device_unit();
  table[layout.accuracy(0, 15)] = 27 * layout.device_unit();
  const auto worst = evaluation_result_of(analytics, table).models[0].worst_tenth;
  EXPECT_NEAR(worst->from, 0.45, 1e-12);
  EXPECT_NEAR(worst->to, 0.5, 1e-12);
}

// Each round of 40 devices is a look, at which the test sees nothing but the sum of all rounds so far.
struct Looks {
  bool ever_worse = false, ever_better = false, ever_left = false;
  int rounds_until_worse = 0;
};
template <typename Draw>
Looks look(Draw draw, double true_harm, int rounds, double harm_max = 1) {
  Looks looks;
  std::vector<double> counts(2 * kDifferenceSteps + 1);
  for (int round = 1; round <= rounds; ++round) {
    for (int device = 0; device < 40; ++device) ++counts[static_cast<size_t>(kDifferenceSteps + draw())];
    const Comparison compared = compare(counts, harm_max);
    looks.ever_worse |= compared.verdict == ComparisonVerdict::worse;
    looks.ever_better |= compared.verdict == ComparisonVerdict::better;
    looks.ever_left |= true_harm < compared.low || true_harm > compared.high;
    if (looks.ever_worse && looks.rounds_until_worse == 0) looks.rounds_until_worse = round;
  }
  return looks;
}

TEST(Comparison, OfModelsThatAreAlikeRaisesFewFalseAlarms) {
  Prng prng(11);
  int worse = 0, better = 0, left = 0;
  for (int trial = 0; trial < 1'000; ++trial) {
    // The hardest: coins. Steps between them move the evidence less.
    const Looks looks = look([&] { return prng.chance(0.5) ? kDifferenceSteps : -kDifferenceSteps; }, 0, 10);
    worse += looks.ever_worse, better += looks.ever_better, left += looks.ever_left;
  }
  EXPECT_LE(worse + better, 50);
  EXPECT_LE(left, 50);
  RecordProperty("worse", worse);
  RecordProperty("better", better);
}

TEST(Comparison, FindsWhatIsWorseAndWhatIsBetter) {
  Prng prng(12);
  int found = 0, wrong = 0, left = 0;
  for (int trial = 0; trial < 100; ++trial) {
    // Differences of some points each way, 5 points worse in the mean.
    const Looks looks = look([&] { return static_cast<int>(prng.below(5)) - 1; }, 0.05, 10);
    found += looks.ever_worse, wrong += looks.ever_better, left += looks.ever_left;
  }
  EXPECT_GE(found, 98);
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(left, 8);
  std::vector<double> mirrored(2 * kDifferenceSteps + 1);
  mirrored[kDifferenceSteps - 4] = 200;
  EXPECT_EQ(compare(mirrored, 1).verdict, ComparisonVerdict::better);
  EXPECT_NEAR(compare(mirrored, 1).harm, -0.2, 1e-12);
  EXPECT_EQ(compare(std::vector<double>(41), 0.5).high, 0.5) << "of nobody nothing is known";
}

HorizontalSettings job() {
  HorizontalSettings settings;
  const AnalyticsSettings analytics = evaluating();
  set_defaults(analytics, settings);
  settings.analytics = analytics;
  settings.privacy.level = SecurityLevel::none;
  return settings;
}

TEST(EvaluationJob, SaysWhatTheRestOfTheJobIs) {
  const HorizontalSettings settings = job();
  EXPECT_THAT(validate(settings), IsEmpty());
  const Plan plan = plan_of(settings, JobId("j"), EvaluationLayout(rules_of(*settings.analytics)).lanes());
  EXPECT_OK(validate(plan));
  EXPECT_EQ(plan.update.fixed_point.value_abs_max, 64) << "what the server takes of one lane";
}

TEST(EvaluationJob, RefusesNoiseAndMoreDevicesThanCountsHaveRoomFor) {
  HorizontalSettings settings = job();
  settings.privacy.noise_multiplier = 1;
  EXPECT_THAT(validate(settings),
              Contains(Field(&Problem::detail, HasSubstr("do not go with privacy.noise_multiplier: an evaluation's"))));
  settings = job();
  settings.rounds.goal_count = 100'000;
  EXPECT_THAT(validate(settings), Contains(Field(&Problem::pointer, "/analytics/lane_max")));
  settings = job();
  settings.analytics->classes = {"only"};
  EXPECT_THAT(validate(settings), Contains(Field(&Problem::pointer, "/analytics/classes")));
}

}  // namespace
}  // namespace coterie
