#include "scheduler/job/rate_schedule.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

namespace coterie {
namespace {

using Kind = RateScheduleKind;
using ::testing::IsEmpty;

constexpr uint64_t kRounds = 10;

std::vector<float> rates_of(const RateSchedule& schedule, float rate = 1, uint64_t rounds = kRounds) {
  std::vector<float> rates;
  for (uint64_t number = 1; number <= rounds; ++number) {
    rates.push_back(scheduled_rate(rate, schedule, number, rounds));
  }
  return rates;
}

std::vector<std::string> wrong(const RateSchedule& schedule, float rate = 0.1f, uint64_t rounds = kRounds) {
  std::vector<std::string> pointers;
  for (const Problem& problem : problems_of(schedule, rate, rounds, "/s")) pointers.push_back(problem.pointer);
  return pointers;
}

TEST(RateSchedule, WithoutOneIsTheJobsRateToTheBit) {
  EXPECT_THAT(rates_of({}, 0.1f), ::testing::Each(0.1f));
  EXPECT_THAT(wrong({}), IsEmpty());
}

TEST(RateSchedule, StepsFallEverySoManyRounds) {
  const RateSchedule schedule{.kind = Kind::step, .period = 4, .gamma = 0.5};
  EXPECT_THAT(rates_of(schedule), ::testing::ElementsAre(1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25));
}

TEST(RateSchedule, ExponentialFallsWithEachRound) {
  const RateSchedule schedule{.kind = Kind::exponential, .gamma = 0.9};
  const std::vector<float> rates = rates_of(schedule, 2);
  for (size_t i = 0; i < rates.size(); ++i) {
    EXPECT_FLOAT_EQ(rates[i], static_cast<float>(2 * std::pow(0.9, static_cast<double>(i)))) << i;
  }
}

// Loshchilov and Hutter's equation 5, as PyTorch's CosineAnnealingLR(T_max = 10, eta_min = 0.02) has it for rate 0.1.
TEST(RateSchedule, CosineFallsToItsFloor) {
  const RateSchedule schedule{.kind = Kind::cosine, .min = 0.2};
  const std::vector<float> rates = rates_of(schedule, 0.1f);
  for (size_t i = 0; i < rates.size(); ++i) {
    const double expected = 0.02 + 0.08 * (1 + std::cos(std::numbers::pi * static_cast<double>(i) / 10)) / 2;
    EXPECT_NEAR(rates[i], expected, 1e-8) << i;
  }
  EXPECT_FLOAT_EQ(rates[5], 0.06f) << "half-way";
}

TEST(RateSchedule, WarmsUpInEqualStepsBeforeAnyKind) {
  const RateSchedule constant{.warmup_rounds = 4};
  EXPECT_THAT(rates_of(constant, 4, 6), ::testing::ElementsAre(1, 2, 3, 4, 4, 4));
  const RateSchedule step{.kind = Kind::step, .warmup_rounds = 2, .period = 2, .gamma = 0.5};
  EXPECT_THAT(rates_of(step, 4, 7), ::testing::ElementsAre(2, 4, 4, 4, 2, 2, 1));
  const RateSchedule cosine{.kind = Kind::cosine, .warmup_rounds = 2};
  EXPECT_EQ(scheduled_rate(1, cosine, 3, 4), 1.0f);
  EXPECT_FLOAT_EQ(scheduled_rate(1, cosine, 4, 4), 0.5f) << "over the rounds behind the warm-up";
}

TEST(RateSchedule, BehindTheLastRoundStaysAsThere) {
  const RateSchedule schedule{.kind = Kind::cosine, .min = 0.1};
  EXPECT_EQ(scheduled_rate(1, schedule, kRounds + 5, kRounds), scheduled_rate(1, schedule, kRounds, kRounds));
}

TEST(RateSchedule, HasTheSettingsOfItsKindAlone) {
  using ::testing::ElementsAre;
  EXPECT_THAT(wrong({.kind = Kind::step, .period = 1, .gamma = 1}), IsEmpty());
  EXPECT_THAT(wrong({.kind = Kind::step}), ElementsAre("/s/gamma", "/s/period"));
  EXPECT_THAT(wrong({.kind = Kind::exponential, .gamma = 1.01}), ElementsAre("/s/gamma"));
  EXPECT_THAT(wrong({.kind = Kind::exponential, .period = 2, .gamma = 0.9}), ElementsAre("/s/period"));
  EXPECT_THAT(wrong({.kind = Kind::exponential, .gamma = std::nan("")}), ElementsAre("/s/gamma"));
  EXPECT_THAT(wrong({.kind = Kind::cosine, .min = 1}), ElementsAre("/s/min"));
  EXPECT_THAT(wrong({.kind = Kind::cosine, .gamma = 0.5}), ElementsAre("/s/gamma"));
  EXPECT_THAT(wrong({.period = 1, .gamma = 0.5, .min = 0.5}), ElementsAre("/s/gamma", "/s/period", "/s/min"));
  EXPECT_THAT(wrong({.warmup_rounds = 9}), IsEmpty());
  EXPECT_THAT(wrong({.warmup_rounds = 10}), ElementsAre("/s/warmup_rounds"));
}

TEST(RateSchedule, ThatTakesTheRateToNothingIsRefused) {
  const RateSchedule halves{.kind = Kind::exponential, .gamma = 0.5};
  EXPECT_THAT(wrong(halves, 0.1f, 90), IsEmpty());
  EXPECT_THAT(wrong(halves, 0.1f, 1'000), ::testing::ElementsAre("/s"));
  EXPECT_THAT(problems_of(halves, 0.1f, 1'000, "/s")[0].detail, ::testing::HasSubstr("round 1000 to 0, below 1e-30"));
}

}  // namespace
}  // namespace coterie
