#include "scheduler/job/analytics_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "aggregation/robust/registry.h"
#include "aggregation/strategy/registry.h"
#include "proto/messages/analytics_lanes.h"
#include "scheduler/job/analytics_result.h"
#include "scheduler/job/central_noise.h"
#include "scheduler/job/model_rules.h"
#include "scheduler/job/round_release.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

HorizontalSettings counting() {
  HorizontalSettings settings;
  AnalyticsSettings analytics;
  analytics.rules = {.input_values = 2, .feature = 1, .values_max = 4, .lane_max = 4};
  analytics.edges = {0, 10, 20};
  set_defaults(analytics, settings);
  settings.analytics = analytics;
  settings.privacy.level = SecurityLevel::none;
  return settings;
}

TEST(AnalyticsRules, SayWhatTheRestOfTheJobIs) {
  const HorizontalSettings settings = counting();
  ASSERT_THAT(validate(settings), IsEmpty());
  EXPECT_EQ(settings.rounds.count, 1u);
  EXPECT_EQ(settings.update.clip_l2, 4);
  EXPECT_EQ(settings.update.weight_max, 1u);
  const Plan plan = plan_of(settings, JobId("j"), lane_count(rules_of(*settings.analytics)));
  EXPECT_OK(validate(plan));
  EXPECT_EQ(plan.analytics, rules_of(*settings.analytics));
  EXPECT_EQ(plan.update.value_count, 5u);
}

TEST(AnalyticsRules, GiveDevicesEdgesInTheUnitOfTheirExamples) {
  AnalyticsSettings analytics = *counting().analytics;
  analytics.mean = 5;
  analytics.deviation = 3;
  const AnalyticsRules rules = rules_of(analytics);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rules.edges[i], static_cast<float>((analytics.edges[i] - 5) * (1 / 3.0))) << "as values are encoded";
  }
}

TEST(AnalyticsRules, RefuseWhatWouldMakeAnotherTableOfTheSum) {
  const auto expect_refused = [](std::string_view words, const std::function<void(HorizontalSettings&)>& change) {
    HorizontalSettings settings = counting();
    change(settings);
    EXPECT_THAT(validate(settings),
                Contains(Field(&Problem::detail, HasSubstr("analytics do not go with " + std::string(words)))));
  };
  expect_refused("training.lora", [](auto& s) { s.training.lora.emplace(); });
  expect_refused("training.early_stopping", [](auto& s) { s.training.early_stopping.emplace(); });
  expect_refused("training.personal", [](auto& s) { s.training.personal.emplace(); });
  expect_refused("training: ", [](auto& s) { s.training.local_epochs = 3; });
  expect_refused("strategy", [](auto& s) { s.strategy = StrategySettings::of("fedadam"); });
  expect_refused("strategy", [](auto& s) { s.strategy.values[0] = 0.5f; });
  expect_refused("aggregation.rule median", [](auto& s) { s.aggregation.rule = find_robust_rule("median"); });
  expect_refused("update.compression", [](auto& s) { s.update.compression.bits = 4; });
  expect_refused("download", [](auto& s) { s.download.bits = 4; });
  expect_refused("evaluation", [](auto& s) { s.evaluation = Digest{{1}}; });
  expect_refused("rounds.policy buffered", [](auto& s) { s.rounds.policy = RoundPolicyKind::buffered; });
  expect_refused("privacy.adaptive_clip", [](auto& s) { s.privacy.adaptive_clip.emplace(); });
  expect_refused("privacy.mechanism tree", [](auto& s) { s.privacy.mechanism = NoiseMechanism::tree; });
}

TEST(AnalyticsRules, NameWhatIsOutOfRange) {
  const auto expect_problem = [](const char* pointer, const std::function<void(HorizontalSettings&)>& change) {
    HorizontalSettings settings = counting();
    change(settings);
    EXPECT_THAT(validate(settings), Contains(Field(&Problem::pointer, pointer)));
  };
  expect_problem("/update/clip_l2", [](auto& s) { s.update.clip_l2 = 1; });
  expect_problem("/update/value_abs_max", [](auto& s) { s.update.value_abs_max = 64; });
  expect_problem("/update/weight_max", [](auto& s) { s.update.weight_max = 2; });
  expect_problem("/analytics/edges", [](auto& s) { s.analytics->edges = {1}; });
  expect_problem("/analytics/deviation", [](auto& s) { s.analytics->deviation = 0; });
  expect_problem("/analytics/quantiles", [](auto& s) { s.analytics->quantiles = {1}; });
  expect_problem("/analytics/column", [](auto& s) { s.analytics->column = std::string(129, 'x'); });
  expect_problem("/analytics/categories", [](auto& s) { s.analytics->categories = {std::string(129, 'x')}; });
  expect_problem("/analytics/lane_max", [](auto& s) { s.rounds.count = 1'000'000; });
}

// The accountant has what one device may move the table by: the ledger's release is that of the clip.
TEST(AnalyticsRules, TellTheAccountantHowFarADeviceMovesTheTable) {
  HorizontalSettings settings = counting();
  settings.privacy.noise_multiplier = 2;
  settings.privacy.target_delta = 1e-6;
  settings.privacy.epsilon_budget = 10;
  ASSERT_THAT(validate(settings), IsEmpty());
  const LedgerRelease release = release_of(settings, 5);
  const Result<CentralNoise> noise = central_noise_of(settings, 5);
  ASSERT_OK(noise);
  EXPECT_NEAR(std::ldexp(release.l2_sensitivity, -static_cast<int>(noise->fraction_bits)), 4, 0.02);
  EXPECT_NEAR(std::sqrt(release.variance) / release.l2_sensitivity, 2, 1e-3);
  EXPECT_NEAR(lane_noise_of(settings, 100), 8, 0.05) << "the server's noise does not grow with the devices";
}

AnalyticsSettings numbers() {
  AnalyticsSettings analytics = *counting().analytics;
  analytics.quantiles = {0.25, 0.5, 0.9};
  return analytics;
}

TEST(AnalyticsResult, HasBinsAndTheBinOfEachQuantile) {
  const float counts[] = {10, 40, 30, 20, 7};
  const AnalyticsResult result = result_of(numbers(), counts, 0);
  ASSERT_EQ(result.bins.size(), 5u);
  EXPECT_EQ(result.bins[0].from, std::nullopt);
  EXPECT_EQ(result.bins[0].to, 0.0);
  EXPECT_EQ(result.bins[1].from, 0.0);
  EXPECT_EQ(result.bins[1].to, 10.0);
  EXPECT_EQ(result.bins[3].from, 20.0);
  EXPECT_EQ(result.bins[3].to, std::nullopt);
  EXPECT_EQ(result.bins[4].name, "missing");
  EXPECT_EQ(result.bins[1].low, 40) << "without noise a count is exact";
  ASSERT_EQ(result.quantiles.size(), 3u);
  EXPECT_EQ(result.quantiles[0].from, 0.0);
  EXPECT_EQ(result.quantiles[1].to, 10.0) << "50 of 100 are below 10";
  EXPECT_EQ(result.quantiles[2].from, 20.0);
  EXPECT_EQ(result.quantiles[2].to, std::nullopt) << "above the last edge nothing is known";
}

TEST(AnalyticsResult, OfNothingHasNoQuantile) {
  const AnalyticsResult result = result_of(numbers(), std::vector<float>(5), 0);
  EXPECT_EQ(result.quantiles[1].from, std::nullopt);
  EXPECT_EQ(result.quantiles[1].to, std::nullopt);
}

// Normal noise by its definition, the same each time.
class NormalNoise {
 public:
  std::vector<float> on(std::vector<float> counts, double deviation) {
    for (float& count : counts) {
      const double normal = std::sqrt(-2 * std::log(uniform())) * std::cos(2 * M_PI * uniform());
      count += static_cast<float>(deviation * normal);
    }
    return counts;
  }

 private:
  double uniform() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (static_cast<double>(state_ >> 11) + 0.5) * 0x1p-53;
  }
  uint64_t state_ = 7;
};

// Many times: the intervals hold as often as they say.
TEST(AnalyticsResult, IntervalsHoldAsOftenAsTheySay) {
  constexpr double kNoise = 4;
  const std::vector<float> truth = {30, 80, 50, 40, 60};
  constexpr int kTrials = 2'000;
  NormalNoise noise;
  int bins_hold = 0, medians_hold = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const AnalyticsResult result = result_of(numbers(), noise.on(truth, kNoise), kNoise);
    bins_hold += result.bins[1].low <= 80 && 80 <= result.bins[1].high;
    const QuantileRange& median = result.quantiles[1];  // the 100th of 200: in [0, 10)
    medians_hold += median.from.value_or(-1) <= 0 && median.to.value_or(99) >= 10;
  }
  EXPECT_NEAR(static_cast<double>(bins_hold) / kTrials, 0.95, 0.02);
  EXPECT_GE(static_cast<double>(medians_hold) / kTrials, 0.94);
}

// Around the median nobody is: sums over a hundred bins of noise cross half of all again and again.
TEST(AnalyticsResult, AQuantileInAnEmptyStretchIsWithinItsBins) {
  constexpr double kNoise = 3;
  constexpr int kTrials = 1'000;
  std::vector<float> truth(103);  // none is missing
  truth[0] = 500;
  truth[101] = 501;
  AnalyticsSettings analytics = *counting().analytics;
  analytics.edges.resize(101);
  std::iota(analytics.edges.begin(), analytics.edges.end(), 0);
  analytics.quantiles = {0.5};
  NormalNoise noise;
  int holds = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const AnalyticsResult result = result_of(analytics, noise.on(truth, kNoise), kNoise);
    holds += !result.quantiles[0].to;  // the 501st of 1001 is the first above the last edge
  }
  EXPECT_GE(holds, kTrials * 95 / 100);
}

AnalyticsSettings buckets(uint32_t count) {
  AnalyticsSettings analytics;
  analytics.rules = {.kind = AnalyticsKind::distinct, .buckets = count};
  return analytics;
}

TEST(AnalyticsResult, CountsDistinctValuesWithinItsInterval) {
  constexpr uint32_t kBuckets = 4'096;
  int holds = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<float> counts(kBuckets);
    for (uint32_t i = 0; i < 3'000; ++i)
      ++counts[distinct_bucket(i + 1'000'003 * static_cast<uint32_t>(trial), kBuckets)];
    const AnalyticsResult result = result_of(buckets(kBuckets), counts, 0);
    ASSERT_TRUE(result.distinct && result.distinct->estimate);
    EXPECT_NEAR(*result.distinct->estimate, 3'000, 150);
    holds += *result.distinct->low <= 3'000 && 3'000 <= *result.distinct->high;
  }
  EXPECT_GE(holds, kTrials * 0.9);
}

TEST(AnalyticsResult, SaysSoWhereAllBucketsAreFull) {
  const AnalyticsResult result = result_of(buckets(16), std::vector<float>(16, 1.0f), 0);
  EXPECT_EQ(result.distinct->occupied, 16u);
  EXPECT_EQ(result.distinct->estimate, std::nullopt);
  const DistinctCount none = *result_of(buckets(16), std::vector<float>(16), 0).distinct;
  EXPECT_EQ(none.estimate, 0);
  EXPECT_FALSE(std::signbit(*none.estimate)) << "people would read about -0 values";
}

TEST(AnalyticsResult, TakesNoiseForNoValue) {
  std::vector<float> counts(1'024);
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = i % 2 == 0 ? 9.0f : -9.0f;  // three deviations
  counts[5] = 100;
  const AnalyticsResult result = result_of(buckets(1'024), counts, 3);
  EXPECT_EQ(result.distinct->occupied, 1u);
  EXPECT_NEAR(result.distinct->threshold, 3 * std::sqrt(2 * std::log(10'240.0)), 1e-9);
  EXPECT_NEAR(result.distinct->seen_from, result.distinct->threshold + 1.96 * 3, 1e-3);
  EXPECT_EQ(result.distinct->high, std::nullopt) << "noise may hide any number of rare values";
}

TEST(AnalyticsResult, SeesAValueOfAsManyDevicesAsItSays) {
  constexpr double kNoise = 3;
  NormalNoise noise;
  std::vector<float> counts(4'096);
  const double seen_from = result_of(buckets(4'096), counts, kNoise).distinct->seen_from;
  for (size_t i = 0; i < 1'000; ++i) counts[i] = static_cast<float>(std::ceil(seen_from));
  const DistinctCount distinct = *result_of(buckets(4'096), noise.on(counts, kNoise), kNoise).distinct;
  EXPECT_GE(distinct.occupied, 965u);
  EXPECT_LE(distinct.occupied, 1'000u);
}

}  // namespace
}  // namespace coterie
