#include "scheduler/rollout/canary_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "base/random.h"

namespace coterie {
namespace {

constexpr CanaryCounts kSame{.both = 8, .only_new = 1, .only_old = 1, .neither = 2};
constexpr CanaryCounts kWorse{.both = 8, .only_old = 4};

// What a device says whose examples the old version gets right with probability p, its own; the new one loses so much
// of what the old one got right, and wins so much of the rest.
CanaryCounts device_counts(Prng& chance, double lost, double won) {
  CanaryCounts counts;
  const auto examples = static_cast<uint32_t>(10 + chance.below(91));
  const double p = chance.uniform(0.6, 0.95);
  for (uint32_t i = 0; i < examples; ++i) {
    const bool old_is_right = chance.chance(p);
    const bool new_is_right = old_is_right ? !chance.chance(lost) : chance.chance(won);
    ++(old_is_right ? (new_is_right ? counts.both : counts.only_old)
                    : (new_is_right ? counts.only_new : counts.neither));
  }
  return counts;
}

struct Canaries {
  int rolled_back = 0;
  std::vector<uint32_t> heard;  // until the rollback, ascending
};

Canaries canaries_of(const CanarySettings& settings, int count, const std::function<CanaryCounts(Prng&)>& counts_of) {
  Canaries canaries;
  for (int i = 0; i < count; ++i) {
    Prng chance = Prng::derived(134, static_cast<uint64_t>(i));
    CanaryMachine machine(settings);
    while (machine.observe(counts_of(chance))) machine.check();
    if (machine.state() != CanaryState::rolled_back) continue;
    ++canaries.rolled_back;
    canaries.heard.push_back(machine.heard().heard);
  }
  std::ranges::sort(canaries.heard);
  return canaries;
}

constexpr double kLost = 0.05, kWon = 0.05 * 0.775 / 0.225;  // as much of 77.5 % as of 22.5 %: no harm

#ifdef COT_NIGHTLY
constexpr uint32_t kHeard = 500;
#else
constexpr uint32_t kHeard = 50;
#endif

// 1,000 canaries of versions that are as good, of two kinds: those that err on other examples, and coins.
TEST(CanaryMachine, TakesFewGoodVersionsBack) {
  const Canaries good = canaries_of({.percent = 5, .trial = {.devices_max = kHeard}}, 1'000,
                                    [](Prng& chance) { return device_counts(chance, kLost, kWon); });
  const Canaries coins = canaries_of({.percent = 5, .trial = {.devices_max = kHeard}}, 1'000, [](Prng& chance) {
    return chance.chance(0.5) ? CanaryCounts{.only_new = 1} : CanaryCounts{.only_old = 1};
  });
  std::printf("of 1,000 canaries that are as good %d were rolled back; of 1,000 of coins %d\n", good.rolled_back,
              coins.rolled_back);
  EXPECT_LE(good.rolled_back, 50);
  EXPECT_LE(coins.rolled_back, 50);
}

TEST(CanaryMachine, FindsWhatIsWorse) {
  uint32_t median_before = 5'000;
  for (const double points : {0.02, 0.05, 0.10}) {
    const Canaries worse = canaries_of({.percent = 5, .trial = {.devices_max = 5'000}}, 100, [&](Prng& chance) {
      return device_counts(chance, kLost + points / 0.775, kWon);
    });
    ASSERT_GE(worse.rolled_back, 95) << points;
    const uint32_t median = worse.heard[worse.heard.size() / 2];
    std::printf("worse by %.0f points: %d of 100 rolled back, after %u observations in the median, %u at most\n",
                100 * points, worse.rolled_back, median, worse.heard.back());
    EXPECT_LT(median, median_before) << "what is worse is found sooner";
    median_before = median;
  }
}

TEST(CanaryMachine, HarmIsAccuracyLost) {
  EXPECT_EQ(kWorse.harm(), 4.0 / 12);
  EXPECT_EQ((CanaryCounts{.only_new = 1, .neither = 3}.harm()), -0.25);
  EXPECT_EQ(kSame.harm(), 0);
  EXPECT_FALSE(is_countable({}));
  EXPECT_TRUE(is_countable({.neither = kCanaryExamplesMax}));
  EXPECT_FALSE(is_countable({.both = 1, .neither = kCanaryExamplesMax}));
  EXPECT_FALSE(is_countable({.both = UINT32_MAX, .neither = UINT32_MAX})) << "their sum does not wrap";
}

TEST(CanaryMachine, PromotesByItselfOnlyWhereItWasAsked) {
  CanaryMachine machine({.percent = 5, .promote_after = 3});
  EXPECT_TRUE(machine.observe(kSame));
  EXPECT_TRUE(machine.observe(kSame));
  EXPECT_EQ(machine.state(), CanaryState::running);
  EXPECT_TRUE(machine.observe(kSame));
  EXPECT_EQ(machine.state(), CanaryState::promoted);
  CanaryMachine asks({.percent = 5});
  for (int i = 0; i < 1'000; ++i) EXPECT_TRUE(asks.observe({.both = 1}));
  EXPECT_EQ(asks.state(), CanaryState::running);
  EXPECT_EQ(asks.verdict(), RolloutVerdict::harmless) << "a person may promote it";
}

// The last observation that would promote it is also the first that shows the harm.
TEST(CanaryMachine, AnAlarmGoesBeforeAPromotion) {
  CanaryMachine first({.percent = 5});
  while (first.state() == CanaryState::running) first.observe({.only_old = 1});
  const uint32_t needed = first.heard().heard;
  CanaryMachine machine({.percent = 5, .promote_after = needed});
  for (uint32_t i = 0; i < needed; ++i) machine.observe({.only_old = 1});
  EXPECT_EQ(machine.state(), CanaryState::rolled_back);
  EXPECT_EQ(machine.verdict(), RolloutVerdict::harmful);
}

TEST(CanaryMachine, IsFoundWorseAfterItWasHarmless) {
  CanaryMachine machine({.percent = 5, .trial = {.margin = 0.1}});
  while (machine.verdict() != RolloutVerdict::harmless) ASSERT_TRUE(machine.observe({.both = 1}));
  while (machine.observe(kWorse)) machine.check();
  EXPECT_EQ(machine.state(), CanaryState::rolled_back);
}

TEST(CanaryMachine, EndsOnce) {
  for (const auto end : {&CanaryMachine::promote, &CanaryMachine::end}) {
    CanaryMachine machine({.percent = 5});
    ASSERT_TRUE(machine.observe(kSame));
    (machine.*end)();
    const CanaryState state = machine.state();
    EXPECT_FALSE(machine.observe(kWorse));
    machine.promote();
    machine.end();
    EXPECT_EQ(machine.state(), state);
    EXPECT_EQ(machine.heard().heard, 1u);
    machine.check();
  }
}

TEST(CanaryMachine, HearsNoMoreThanItMay) {
  CanaryMachine machine({.percent = 5, .trial = {.devices_max = 2}});
  EXPECT_TRUE(machine.observe(kSame));
  EXPECT_EQ(machine.verdict(), RolloutVerdict::open);
  EXPECT_TRUE(machine.observe(kSame));
  EXPECT_TRUE(machine.is_full());
  EXPECT_FALSE(machine.observe(kWorse));
  EXPECT_EQ(machine.verdict(), RolloutVerdict::undecided);
  EXPECT_EQ(machine.state(), CanaryState::running) << "a person decides";
}

// Stopped and begun again behind each observation, to the same bits.
TEST(CanaryMachine, GoesOnFromWhatItHasHeard) {
  const CanarySettings settings{.percent = 5, .trial = {.harm_max = 0.5}, .promote_after = 200};
  Prng chance = Prng::derived(134, 7);
  CanaryMachine whole(settings), again(settings);
  for (bool heard = true; heard;) {
    const CanaryCounts counts = device_counts(chance, 0.1, kWon);
    heard = whole.observe(counts);
    again = CanaryMachine(settings, again.state(), again.heard());
    EXPECT_EQ(again.observe(counts), heard);
    ASSERT_EQ(again.heard(), whole.heard());
    ASSERT_EQ(again.state(), whole.state());
  }
  EXPECT_NE(whole.state(), CanaryState::running);
}

TEST(CanarySettings, SayWhatIsWrong) {
  EXPECT_TRUE(validate(CanarySettings{.percent = 1}).empty());
  EXPECT_TRUE(validate(CanarySettings{.percent = 99, .promote_after = 10'000}).empty());
  const auto pointers = [](const CanarySettings& settings) {
    std::string all;
    for (const Problem& problem : validate(settings)) all += problem.pointer + " ";
    return all;
  };
  EXPECT_EQ(pointers({.percent = 0}), "/percent ");
  EXPECT_EQ(pointers({.percent = 100}), "/percent ");
  EXPECT_EQ(pointers({.percent = 5, .trial = {.devices_max = kCanaryHeardMax + 1}}), "/devices_max ");
  EXPECT_EQ(pointers({.percent = 5, .trial = {.devices_max = 10}, .promote_after = 11}), "/promote_after ");
  EXPECT_EQ(pointers({.percent = 5, .trial = {.margin = 1}}), "/margin ");
}

}  // namespace
}  // namespace coterie
