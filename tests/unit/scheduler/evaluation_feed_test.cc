// What rounds of an evaluation say to a canary: each device once, in an order that finds no harm where there is none.
#include "scheduler/rollout/evaluation_feed.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "proto/messages/evaluation_lanes.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

AnalyticsRules comparison(float harm_max = 1) {
  AnalyticsRules rules{.kind = AnalyticsKind::evaluation, .input_values = 4, .values_max = 16};
  rules.evaluation = EvaluationRules{
      .models = {EvaluatedModel{}, EvaluatedModel{}}, .classes = 2, .score_bins = 0, .harm_max = harm_max};
  rules.lane_max = evaluation_lane_max(rules.values_max);
  return rules;
}

// Tables whose lanes of differences count so many devices by step.
class Tables {
 public:
  explicit Tables(AnalyticsRules rules)
      : rules_(std::move(rules)), layout_(rules_), before_(layout_.lanes()), after_(layout_.lanes()) {}
  Tables& add(int32_t step, float devices) {
    after_[layout_.difference(step)] += devices * layout_.device_unit();
    return *this;
  }
  Result<std::vector<CanaryCounts>> round(uint64_t seed = 1) {
    auto observations = observations_of(rules_, before_, after_, seed);
    before_ = after_;
    return observations;
  }

 private:
  AnalyticsRules rules_;
  EvaluationLayout layout_;
  std::vector<float> before_, after_;
};

std::map<double, int> by_harm(const std::vector<CanaryCounts>& observations) {
  std::map<double, int> counts;
  for (const CanaryCounts& one : observations) ++counts[one.harm()];
  return counts;
}

TEST(EvaluationFeed, HasEachDeviceOfTheRoundOnce) {
  Tables tables(comparison());
  const auto first = tables.add(-20, 1).add(0, 5).add(3, 2).round();
  ASSERT_OK(first);
  EXPECT_EQ(by_harm(*first), (std::map<double, int>{{-1.0, 1}, {0.0, 5}, {0.15, 2}}));
  for (const CanaryCounts& one : *first) EXPECT_TRUE(is_countable(one));
  const auto second = tables.add(20, 1).round();
  ASSERT_OK(second);
  EXPECT_EQ(by_harm(*second), (std::map<double, int>{{1.0, 1}})) << "the first round is not told again";
  const auto third = tables.round();
  ASSERT_OK(third);
  EXPECT_TRUE(third->empty());
}

TEST(EvaluationFeed, KnowsWhatADifferenceCountsAtMost) {
  Tables tables(comparison(0.25f));
  EXPECT_EQ(by_harm(*tables.add(20, 1).add(-4, 1).round()), (std::map<double, int>{{-0.05, 1}, {0.25, 1}}));
}

TEST(EvaluationFeed, RefusesTablesThatDoNotFollowOneAnother) {
  EXPECT_ERROR(Tables(comparison()).add(3, -1).round(), ErrorCode::data_loss, "two tables that follow one another");
  EXPECT_ERROR(Tables(comparison()).add(3, 0.5f).round(), ErrorCode::data_loss, "a whole number");
}

TEST(EvaluationFeed, GivesTheSameOrderAgainAndNoneThatLooksAtHarms) {
  const auto order = [](uint64_t seed) {
    Tables tables(comparison());
    for (int32_t step = -20; step <= 20; ++step) tables.add(step, 3);
    std::vector<double> harms;
    const Result<std::vector<CanaryCounts>> observations = tables.round(seed);
    for (const CanaryCounts& one : *observations) harms.push_back(one.harm());
    return harms;
  };
  EXPECT_EQ(order(7), order(7)) << "what is told again has the names that it had";
  EXPECT_NE(order(7), order(8));
  EXPECT_FALSE(std::ranges::is_sorted(order(7)));
}

// Models that are as good: devices differ by chance. In the order of the lanes, from the most harm down, a canary would
// be taken back for nothing.
TEST(EvaluationFeed, TakesNoCanaryBackForTheOrderInWhichItHears) {
  constexpr int kCanaries = 200;
  int fair = 0, sorted = 0;
  Prng prng(11);
  for (int canary = 0; canary < kCanaries; ++canary) {
    Tables tables(comparison());
    const CanarySettings settings{.percent = 5};
    CanaryMachine machine(settings), misled(settings);
    for (int round = 0; round < 5; ++round) {
      for (int device = 0; device < 60; ++device) tables.add(static_cast<int32_t>(prng.below(21)) - 10, 1);
      std::vector<CanaryCounts> observations = *tables.round(prng.next());
      for (const CanaryCounts& one : observations) machine.observe(one);
      std::ranges::sort(observations, std::greater(), &CanaryCounts::harm);
      for (const CanaryCounts& one : observations) misled.observe(one);
    }
    fair += machine.state() == CanaryState::rolled_back;
    sorted += misled.state() == CanaryState::rolled_back;
  }
  EXPECT_LE(fair, kCanaries / 10) << "alpha is 0.05";
  EXPECT_GT(sorted, kCanaries / 2) << "or the order would not matter";
}

TEST(EvaluationFeed, NamesWhatNobodyElseMayName) {
  const std::string source = fed_source(JobId("jk2x9q4c"), ModelVersion(3), 17);
  EXPECT_EQ(source, "evaluation.jk2x9q4c.3.17");
  EXPECT_TRUE(is_source_of_server(source));
  EXPECT_FALSE(is_source_of_server("0eb753d8934b7594b4223cf2813ed1dd"));
}

}  // namespace
}  // namespace coterie
