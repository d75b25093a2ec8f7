#include "scheduler/rollout/rollout_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "base/random.h"

namespace coterie {
namespace {

// What a device says whose examples the version before gets right with probability p, its own: of each example the new
// version gets wrong what the other got right with probability `lost`, and right what the other got wrong with `won`.
PairedScore device_score(Prng& chance, double lost, double won) {
  PairedScore score{.examples = static_cast<uint32_t>(10 + chance.below(91))};
  const double p = chance.uniform(0.6, 0.95);
  for (uint32_t i = 0; i < score.examples; ++i) {
    const bool before = chance.chance(p);
    score.correct_before += before;
    score.correct_after += before ? !chance.chance(lost) : chance.chance(won);
  }
  return score;
}

struct Trials {
  int harmful = 0, harmless = 0, undecided = 0;
  std::vector<uint32_t> devices;  // ascending
};

Trials trials_of(const RolloutSettings& settings, int count, const std::function<double(Prng&)>& harm_of) {
  Trials trials;
  for (int i = 0; i < count; ++i) {
    Prng chance = Prng::derived(11, static_cast<uint64_t>(i));
    RolloutTrial trial(settings);
    while (trial.verdict() == RolloutVerdict::open) trial.observe(harm_of(chance));
    trials.harmful += trial.verdict() == RolloutVerdict::harmful;
    trials.harmless += trial.verdict() == RolloutVerdict::harmless;
    trials.undecided += trial.verdict() == RolloutVerdict::undecided;
    trials.devices.push_back(trial.devices());
  }
  std::ranges::sort(trials.devices);
  return trials;
}

void tell(const char* what, const Trials& trials) {
  std::printf("%s: %d harmful, %d harmless, %d undecided; median of %u devices\n", what, trials.harmful,
              trials.harmless, trials.undecided, trials.devices[trials.devices.size() / 2]);
}

// Two coins: 0 and 1 with equal chances, and gamblers who know the formula.
TEST(BettingCapital, IsTheMeanOfItsGamblers) {
  BettingCapital capital(0.5);
  EXPECT_EQ(capital.log(), 0);
  capital.bet(1);
  capital.bet(1);
  capital.bet(0.25);
  double sum = 0;
  for (int j = 0; j < 14; ++j) {
    const double share = 0.95 * std::pow(2, -0.5 * j);
    sum += (1 + share) * (1 + share) * (1 - share / 2);
  }
  EXPECT_NEAR(capital.log(), std::log(sum / 14), 1e-12);
}

// A fair game: over all sequences of ten coins, the mean of the capital is 1.
TEST(BettingCapital, IsAFairGameWhereTheClaimIsTrue) {
  for (const double mean : {0.2, 0.5, 0.9}) {
    double expected = 0;
    for (unsigned coins = 0; coins < 1024; ++coins) {
      BettingCapital capital(mean);
      double probability = 1;
      for (int i = 0; i < 10; ++i) {
        const bool head = (coins >> i) & 1;
        capital.bet(head);
        probability *= head ? mean : 1 - mean;
      }
      expected += probability * std::exp(capital.log());
    }
    EXPECT_NEAR(expected, 1, 1e-9) << mean;
  }
}

TEST(BettingCapital, IsNeverGone) {
  BettingCapital capital(0.5);
  for (int i = 0; i < 100'000; ++i) capital.bet(0);
  EXPECT_TRUE(std::isfinite(capital.log()));
}

// A version that is as good as the one before, 1,000 times: no model at all, and two that err on different examples.
TEST(RolloutTrial, RaisesFewFalseAlarms) {
  const RolloutSettings settings{.margin = 0.02, .devices_max = 300};
  const Trials same = trials_of(settings, 100, [](Prng&) { return 0.0; });
  EXPECT_EQ(same.harmful, 0);
  const Trials null = trials_of(settings, 1'000, [](Prng& chance) {  // of 77.5 % as much is lost as of 22.5 % is won
    return device_score(chance, 0.05, 0.05 * 0.775 / 0.225).harm();
  });
  tell("1,000 rollouts of a version that is as good", null);
  EXPECT_LE(null.harmful, 50);
  const Trials coins = trials_of(settings, 1'000, [](Prng& chance) { return chance.chance(0.5) ? 1.0 : -1.0; });
  tell("1,000 rollouts of coins", coins);
  EXPECT_LE(coins.harmful, 50);
}

TEST(RolloutTrial, FindsARegression) {
  const RolloutSettings settings{.margin = 0.02, .devices_max = 3'000};
  const Trials two_points = trials_of(settings, 100, [](Prng& chance) {
    return device_score(chance, 0.05 + 0.02 / 0.775, 0.05 * 0.775 / 0.225).harm();
  });
  tell("100 rollouts of a version that is worse by 2 points", two_points);
  EXPECT_GE(two_points.harmful, 90);
  EXPECT_LE(two_points.harmless, 5);
}

TEST(RolloutTrial, ReleasesWhatIsBetter) {
  const RolloutSettings settings{.margin = 0.02, .devices_max = 3'000};
  const Trials better =
      trials_of(settings, 100, [](Prng& chance) { return device_score(chance, 0.02, 0.05 * 0.775 / 0.225).harm(); });
  tell("100 rollouts of a version that is better", better);
  EXPECT_GE(better.harmless, 90);
  EXPECT_LE(better.harmful, 5);
}

TEST(RolloutTrial, KeepsItsEnd) {
  RolloutTrial trial({.margin = 0.1, .devices_max = 5});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(trial.observe(0), i < 4 ? RolloutVerdict::open : RolloutVerdict::undecided);
  EXPECT_EQ(trial.observe(1), RolloutVerdict::undecided);
  EXPECT_EQ(trial.devices(), 5u);
  RolloutTrial harmful({.margin = 0.1});
  while (harmful.observe(1) == RolloutVerdict::open) continue;
  EXPECT_EQ(harmful.verdict(), RolloutVerdict::harmful);
  EXPECT_EQ(harmful.observe(-1), RolloutVerdict::harmful);
  EXPECT_EQ(harmful.mean_harm(), 1);
}

// Much is lost at few devices and little is won at many: clipped, a gain.
TEST(RolloutTrial, TellsTheMeanThatItsVerdictIsAbout) {
  RolloutTrial trial({.margin = 0.01, .harm_max = 0.1});
  for (int i = 0; trial.verdict() == RolloutVerdict::open; ++i) trial.observe(i % 8 == 0 ? 1 : -0.05);
  EXPECT_EQ(trial.verdict(), RolloutVerdict::harmless);
  EXPECT_GT(trial.mean_harm(), 0.01);
  EXPECT_LT(trial.mean_clipped_harm(), 0);
}

TEST(RolloutTrial, KeepsTheHighestEvidence) {
  RolloutTrial trial({.margin = 0.02});
  for (int i = 0; i < 3; ++i) trial.observe(1);
  const double highest = trial.log_evidence_of_harm();
  EXPECT_GT(highest, 0);
  trial.observe(-1);
  EXPECT_EQ(trial.verdict(), RolloutVerdict::open);
  EXPECT_EQ(trial.log_evidence_of_harm(), highest);
}

TEST(RolloutSettings, HaveRanges) {
  EXPECT_TRUE(validate(RolloutSettings{}).empty());
  for (const RolloutSettings& settings : {RolloutSettings{.alpha = 0},
                                          {.alpha = 0.6},
                                          {.alpha = std::nan("")},
                                          {.margin = 0},
                                          {.margin = 0.5, .harm_max = 0.5},
                                          {.harm_max = 0},
                                          {.harm_max = 1.5},
                                          {.devices_max = 0}}) {
    EXPECT_FALSE(validate(settings).empty());
  }
}

}  // namespace
}  // namespace coterie
