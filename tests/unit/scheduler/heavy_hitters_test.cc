// Frequent strings of a population that is counted round by round, held against what counting it at once says.
#include "scheduler/job/heavy_hitters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/random.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/hitter_lanes.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/model_rules.h"
#include "scheduler/job/round_question.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint32_t kLength = 6;

HorizontalSettings looking(uint32_t threshold, uint32_t prefixes_max) {
  AnalyticsSettings analytics;
  analytics.rules = {.kind = AnalyticsKind::heavy_hitters, .input_values = kLength};
  analytics.rules.hitters =
      HitterRules{.length_max = kLength, .alphabet = {'a', 'b', 'c', 'd', 'e', 'f'}, .prefixes_max = prefixes_max};
  analytics.threshold = threshold;
  HorizontalSettings settings;
  set_defaults(analytics, settings);
  settings.analytics = analytics;
  settings.privacy.level = SecurityLevel::none;
  return settings;
}

// Strings of 1 to 6 bytes, of which a few are frequent: string i of a list by chance has the weight 1 / (i + 1).
std::vector<std::string> population(size_t people, uint64_t seed) {
  Prng prng(seed);
  std::vector<std::string> words;
  std::vector<double> up_to;
  double all = 0;
  for (size_t i = 0; i < 200; ++i) {
    std::string word(1 + prng.below(kLength), 'a');
    for (char& byte : word) byte = static_cast<char>('a' + prng.below(6));
    words.push_back(word);
    up_to.push_back(all += 1 / static_cast<double>(i + 1));
  }
  std::vector<std::string> people_have;
  for (size_t i = 0; i < people; ++i) {
    const double at = prng.uniform() * all;
    people_have.push_back(words[static_cast<size_t>(std::ranges::lower_bound(up_to, at) - up_to.begin())]);
  }
  return people_have;
}

std::vector<float> count_round(const AnalyticsRules& rules, const std::vector<std::string>& people) {
  std::vector<float> counts(lane_count(rules));
  for (const std::string& text : people) {
    std::vector<float> input(rules.input_values);
    for (size_t i = 0; i < text.size(); ++i) input[i] = static_cast<float>(static_cast<uint8_t>(text[i]));
    if (const auto lane = lane_of(rules, input, 0)) ++counts[*lane];
  }
  return counts;
}

// All rounds of the job, each asking everybody; `noise` in each lane.
std::vector<std::vector<float>> play(const HorizontalSettings& settings, const std::vector<std::string>& people,
                                     double noise = 0, uint64_t seed = 1) {
  Prng prng(seed);
  std::vector<std::vector<float>> blocks;
  for (uint32_t round = 0; round < settings.rounds.count; ++round) {
    const AnalyticsRules rules = rules_of(question_of_round(settings, blocks));
    EXPECT_OK(validate(rules));
    std::vector<float> counts = count_round(rules, people);
    if (noise > 0) {
      for (float& count : counts) count += static_cast<float>(noise * prng.normal());
    }
    blocks.push_back(std::move(counts));
  }
  return blocks;
}

std::map<std::string, double> truth_of(const std::vector<std::string>& people) {
  std::map<std::string, double> truth;
  for (const std::string& text : people) ++truth[text];
  return truth;
}

TEST(HeavyHitters, AreAllStringsOfSoManyAndNoOthers) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const std::vector<std::string> people = population(3'000, seed);
    const HorizontalSettings settings = looking(25, 100);
    ASSERT_THAT(validate(settings), IsEmpty());
    const HeavyHitters found = heavy_hitters_of(settings, play(settings, people));
    std::map<std::string, double> wanted = truth_of(people);
    std::erase_if(wanted, [](const auto& one) { return one.second < 25; });
    std::map<std::string, double> told;
    for (const CountedString& one : found.strings) {
      told[one.text] = one.count;
      EXPECT_EQ(one.may_go_on, one.text.size() == kLength);
    }
    EXPECT_EQ(told, wanted) << seed;
    EXPECT_GT(told.size(), 10u);
    EXPECT_TRUE(std::ranges::is_sorted(found.strings, std::greater(), &CountedString::count));
    EXPECT_EQ(found.left_out, 0);
    EXPECT_THAT(found.prefixes, IsEmpty()) << "every string has ended";
  }
}

TEST(HeavyHitters, TellWhatIsOpenBeforeTheLastRound) {
  const std::vector<std::string> people = population(3'000, 1);
  const HorizontalSettings settings = looking(25, 100);
  auto blocks = play(settings, people);
  blocks.resize(2);
  const HeavyHitters found = heavy_hitters_of(settings, blocks);
  ASSERT_FALSE(found.prefixes.empty());
  for (const CountedString& prefix : found.prefixes) {
    EXPECT_EQ(prefix.count, std::ranges::count_if(people, [&](const auto& t) { return t.starts_with(prefix.text); }));
    EXPECT_EQ(prefix.text.size(), 2u);
  }
  for (const CountedString& one : found.strings) EXPECT_EQ(one.text.size(), 1u);
}

// With too little room the most frequent prefixes go on, and what is told is still true and complete above left_out.
TEST(HeavyHitters, SayFromWhereOnSomeMayBeMissing) {
  const std::vector<std::string> people = population(3'000, 2);
  const HorizontalSettings settings = looking(10, 8);
  const HeavyHitters found = heavy_hitters_of(settings, play(settings, people));
  EXPECT_GT(found.left_out, 10);
  const std::map<std::string, double> truth = truth_of(people);
  std::map<std::string, double> told;
  for (const CountedString& one : found.strings) {
    told[one.text] = one.count;
    EXPECT_EQ(one.count, truth.at(one.text));
  }
  for (const auto& [text, count] : truth) {
    if (count > found.left_out) EXPECT_TRUE(told.contains(text)) << text;
  }
}

// Nothing is left once no prefix goes on, and not before.
TEST(HeavyHitters, EndTheJobWhereNothingIsLeftToAsk) {
  const HorizontalSettings settings = looking(3, 8);
  const std::vector<std::string> people(10, "ab");
  std::vector<std::vector<float>> blocks = play(settings, people);
  blocks.resize(2);
  EXPECT_FALSE(nothing_is_left(settings, blocks)) << "ab may go on";
  blocks = play(settings, people);
  blocks.resize(3);
  EXPECT_TRUE(nothing_is_left(settings, blocks));
  EXPECT_EQ(heavy_hitters_of(settings, blocks).strings, (std::vector<CountedString>{{"ab", 10}}));
}

TEST(HeavyHitters, OfNobodyAreNone) {
  const HorizontalSettings settings = looking(2, 8);
  const HeavyHitters found = heavy_hitters_of(settings, play(settings, {}));
  EXPECT_THAT(found.strings, IsEmpty());
  EXPECT_THAT(found.prefixes, IsEmpty());
}

HorizontalSettings noisy() {
  HorizontalSettings settings = looking(5, 32);
  settings.privacy.noise_multiplier = 4;
  settings.privacy.target_delta = 1e-6;
  settings.privacy.epsilon_budget = 10;
  return settings;
}

// Nobody has anything, and no noise of 400 jobs but one in twenty reaches the threshold, anywhere.
TEST(HeavyHitters, OfNoiseAloneAreRarerThanTheySay) {
  const HorizontalSettings settings = noisy();
  ASSERT_THAT(validate(settings), IsEmpty());
  const double noise = lane_noise_of(settings, settings.rounds.ticket_count());
  EXPECT_NEAR(noise, 4, 0.01);
  const double lanes = 6 * 32 * 7;
  EXPECT_NEAR(hitter_threshold(settings), noise * std::sqrt(2 * std::log(10 * lanes)), 1e-9);
  // All lanes of all rounds at once, whichever are followed.
  constexpr int kJobs = 400;
  int wrong = 0;
  Prng prng(3);
  const double threshold = hitter_threshold(settings);
  for (int job = 0; job < kJobs; ++job) {
    bool reached = false;
    for (int lane = 0; lane < static_cast<int>(lanes); ++lane) {
      reached |= noise * prng.normal() >= threshold;
    }
    wrong += reached;
  }
  EXPECT_LE(wrong, kJobs / 20);
  EXPECT_GT(wrong, 0) << "a threshold that nothing reaches would find nothing";
}

// Jobs over a real population: strings that nobody has are told in one of twenty at most, and the frequent ones are.
TEST(HeavyHitters, WithNoiseAreThoseThatManyHave) {
  const HorizontalSettings settings = noisy();
  const double noise = lane_noise_of(settings, settings.rounds.ticket_count());
  const std::vector<std::string> people = population(1'500, 4);
  const std::map<std::string, double> truth = truth_of(people);
  constexpr int kJobs = 60;
  int wrong = 0, missed = 0;
  for (int job = 0; job < kJobs; ++job) {
    const HeavyHitters found =
        heavy_hitters_of(settings, play(settings, people, noise, 100 + static_cast<uint64_t>(job)));
    std::map<std::string, double> told;
    for (const CountedString& one : found.strings) told[one.text] = one.count;
    wrong += std::ranges::any_of(told, [&](const auto& one) { return !truth.contains(one.first); });
    for (const auto& [text, count] : truth) {
      // Each of its levels is counted anew: six times four deviations.
      if (count >= found.threshold + 4 * noise && !told.contains(text)) ++missed;
    }
  }
  EXPECT_LE(wrong, kJobs / 20);
  EXPECT_EQ(missed, 0);
}

TEST(HeavyHitters, AreOfJobsThatSayWhatARoundMay) {
  const auto expect = [](std::string_view pointer, std::string_view words, auto change) {
    HorizontalSettings settings = looking(25, 100);
    change(settings);
    EXPECT_THAT(validate(settings), Contains(testing::AllOf(Field(&Problem::pointer, std::string(pointer)),
                                                            Field(&Problem::detail, HasSubstr(std::string(words))))));
  };
  expect("/rounds/count", "a round looks one byte further", [](auto& s) { s.rounds.count = kLength + 1; });
  expect("/analytics/threshold", "must be above lane_max", [](auto& s) { s.analytics->threshold = 1; });
  expect("/analytics/length_max", "must be in", [](auto& s) { s.analytics->rules.hitters->length_max = 0; });
  expect("/analytics/quantiles", "must be absent", [](auto& s) { s.analytics->quantiles = {0.5}; });
  expect("/analytics/refine", "must have quantiles", [](auto& s) { s.analytics->refines = true; });
}

// A table has a block for each round, and an update the lanes of one.
TEST(HeavyHitters, HaveUpdatesOfOneBlock) {
  const HorizontalSettings settings = looking(25, 100);
  EXPECT_EQ(settings.rounds.count, kLength);
  EXPECT_EQ(blocks_of(settings), kLength);
  const Result<ModelValues> values = values_of(settings, ModelGraph(), 6 * 704);
  ASSERT_OK(values);
  EXPECT_EQ(values->step_count(), 700u);
  const Plan plan = plan_of(settings, JobId("j"), *values);
  EXPECT_OK(validate(plan));
  EXPECT_EQ(plan.update.value_count, 700u);
  EXPECT_EQ(plan.update.whole_value_count, 0u) << "which block, is no device's affair";
}

}  // namespace
}  // namespace coterie
