// Quantiles that rounds narrow down, held against those of the sorted values.
#include "scheduler/job/quantile_refinement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "proto/messages/analytics_lanes.h"
#include "scheduler/job/analytics_result.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/round_question.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

HorizontalSettings refining(uint32_t rounds, std::vector<double> quantiles = {0.5}) {
  AnalyticsSettings analytics;
  analytics.rules = {.input_values = 1};
  for (int i = 0; i <= 20; ++i) analytics.edges.push_back(10.0 * i);
  analytics.quantiles = std::move(quantiles);
  analytics.refines = true;
  HorizontalSettings settings;
  set_defaults(analytics, settings);
  settings.analytics = analytics;
  settings.rounds.count = rounds;
  settings.privacy.level = SecurityLevel::none;
  return settings;
}

std::vector<float> people(size_t count, uint64_t seed) {
  Prng prng(seed);
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(-40 * std::log(1 - prng.uniform())));
  return values;
}

std::vector<float> count_round(const AnalyticsRules& rules, std::span<const float> values, double noise, Prng& prng) {
  std::vector<float> counts(lane_count(rules));
  for (const float value : values) ++counts[*lane_of(rules, std::span(&value, 1), 0)];
  if (noise > 0) {
    for (float& count : counts) count += static_cast<float>(noise * prng.normal());
  }
  return counts;
}

struct Told {
  std::vector<QuantileRange> ranges;
  std::vector<std::vector<double>> edges;  // of each round
};
// Each round asks everybody, or those of its own.
Told play(const HorizontalSettings& settings, const std::vector<std::vector<float>>& asked, double noise = 0,
          uint64_t seed = 1) {
  Prng prng(seed);
  Told told;
  std::vector<std::vector<float>> blocks;
  for (uint32_t round = 0; round < settings.rounds.count; ++round) {
    const AnalyticsSettings question = question_of_round(settings, blocks);
    const AnalyticsRules rules = rules_of(question);
    EXPECT_OK(validate(rules)) << "round " << round + 1;
    EXPECT_EQ(rules.edges.size(), 21u);
    blocks.push_back(count_round(rules, asked[round % asked.size()], noise, prng));
    told.edges.push_back(question.edges);
  }
  told.ranges = refined_result(settings, blocks, noise).result.quantiles;
  return told;
}

float exact(std::vector<float> values, double at) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(std::ceil(at * static_cast<double>(values.size()))) - 1];
}

TEST(QuantileRefinement, HasTheExactQuantileInARangeOfTheStatedWidth) {
  for (const std::vector<double>& quantiles : {std::vector<double>{0.5}, {0.1, 0.5, 0.9}}) {
    const std::vector<float> values = people(4'001, 3);
    for (uint32_t rounds = 2; rounds <= 4; ++rounds) {
      const HorizontalSettings settings = refining(rounds, quantiles);
      ASSERT_THAT(validate(settings), IsEmpty());
      const Told told = play(settings, {values});
      const double stated = 10 / std::pow(21.0 / static_cast<double>(quantiles.size()) - 1, rounds - 1);
      for (size_t i = 0; i < quantiles.size(); ++i) {
        const QuantileRange& range = told.ranges[i];
        ASSERT_TRUE(range.from && range.to);
        EXPECT_LE(*range.from, exact(values, quantiles[i]) * (1 + 1e-6f));
        EXPECT_GE(*range.to, exact(values, quantiles[i]) * (1 - 1e-6f));
        EXPECT_LE(*range.to - *range.from, stated * 1.0001) << quantiles[i] << " after " << rounds;
      }
    }
  }
}

// For ever: edges stay apart as float32, and round what they have found.
TEST(QuantileRefinement, EndsWhereFloat32Does) {
  const std::vector<float> values = people(501, 5);
  for (const double mean : {0.0, 1e6}) {
    HorizontalSettings settings = refining(kRefinedRoundsMax, {0.25, 0.5});
    settings.analytics->mean = mean;
    settings.analytics->deviation = 3;
    for (double& edge : settings.analytics->edges) edge += mean;
    std::vector<float> encoded;
    for (const float value : values) encoded.push_back(value / 3);
    const Told told = play(settings, {encoded});
    for (size_t i = 0; i < 2; ++i) {
      const double truth = static_cast<double>(exact(values, settings.analytics->quantiles[i]));
      EXPECT_NEAR(*told.ranges[i].from - mean, truth, mean == 0 ? 1e-2 : 8);
      EXPECT_NEAR(*told.ranges[i].to - mean, truth, mean == 0 ? 1e-2 : 8);
    }
  }
}

TEST(QuantileRefinement, LooksBeyondTheFirstEdgesToo) {
  HorizontalSettings settings = refining(6);
  std::vector<float> far;
  for (int i = 0; i < 99; ++i) far.push_back(550 + 0.1f * static_cast<float>(i));
  const Told told = play(settings, {far});
  EXPECT_GT(told.edges[1].back(), 200);
  EXPECT_LE(*told.ranges[0].from, 554.9);
  EXPECT_GE(*told.ranges[0].to, 554.9);
  EXPECT_LT(*told.ranges[0].to - *told.ranges[0].from, 10);
}

TEST(QuantileRefinement, HoldsWithNoiseAsOftenAsItSays) {
  HorizontalSettings settings = refining(3);
  constexpr double kNoise = 8;
  settings.privacy.noise_multiplier = kNoise;
  settings.privacy.target_delta = 1e-6;
  settings.privacy.epsilon_budget = 10;
  ASSERT_THAT(validate(settings), IsEmpty());
  ASSERT_NEAR(lane_noise_of(settings, 1), kNoise, 0.05);
  const std::vector<float> values = people(4'001, 7);
  constexpr int kTrials = 100;
  int holds = 0;
  double widest = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Told told = play(settings, {values}, kNoise, static_cast<uint64_t>(trial) + 1);
    const QuantileRange& range = told.ranges[0];
    const float truth = exact(values, 0.5);
    holds += range.from.value_or(-1) <= truth && range.to.value_or(1e9) >= truth;
    widest = std::max(widest, range.to.value_or(1e9) - range.from.value_or(-1e9));
  }
  EXPECT_GE(holds, kTrials * 93 / 100);
  // Where the median is, 40 people have 0.8 between them. A rank is off by 8 sqrt(21) / 2 = 18 people a deviation:
  // three of them to both sides, in the round that looks, are about 2.
  EXPECT_LT(widest, 4);
}

// Rounds that ask other people each: their medians differ, and each round finds its own.
TEST(QuantileRefinement, FindsTheQuantileOfOtherDevicesToo) {
  HorizontalSettings settings = refining(3);
  settings.rounds.separation_min = 3;
  int found = 0;
  constexpr uint64_t kTrials = 100;
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    const std::vector<std::vector<float>> asked = {people(1'001, 3 * trial), people(1'001, 3 * trial + 1),
                                                   people(1'001, 3 * trial + 2)};
    const Told told = play(settings, asked);
    const QuantileRange& range = told.ranges[0];
    const float truth = exact(asked[2], 0.5);
    found += range.from && range.to && *range.from <= truth && *range.to >= truth && *range.to - *range.from < 2;
  }
  EXPECT_GE(found, 95);
}

TEST(QuantileRefinement, IsOfJobsWhoseEdgesAreEnough) {
  const auto expect = [](std::string_view words, auto change) {
    HorizontalSettings settings = refining(3);
    change(settings);
    EXPECT_THAT(validate(settings), Contains(Field(&Problem::detail, HasSubstr(std::string(words)))));
  };
  expect("must be 2 to 32", [](auto& s) { s.rounds.count = 1; });
  expect("must be 2 to 32", [](auto& s) { s.rounds.count = 33; });
  expect("must have quantiles", [](auto& s) { s.analytics->quantiles.clear(); });
  expect("4 edges or more", [](auto& s) { s.analytics->quantiles = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}; });
  expect("must be absent", [](auto& s) { s.analytics->threshold = 3; });
}

}  // namespace
}  // namespace coterie
