#include "scheduler/selection/pace.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace coterie {
namespace {

constexpr PaceSettings kPace{.checkins_per_second_max = 100, .window_min = Millis(500), .window_max = Millis(60'000)};

TEST(RetryWindow, SpreadsAPopulationOverTheTimeItsCheckinsTake) {
  const RetryWindow window = retry_window(3'000, Millis(0), kPace, "later");
  EXPECT_EQ(window.min_ms, 0u);
  EXPECT_EQ(window.max_ms, 30'000u) << "3000 devices at 100 a second";
  EXPECT_EQ(window.reason, "later");
}

TEST(RetryWindow, IsNeverNarrowerOrWiderThanItsBounds) {
  for (const uint64_t population : {uint64_t{0}, uint64_t{1}, uint64_t{49}}) {
    EXPECT_EQ(retry_window(population, Millis(0), kPace, "").max_ms, 500u) << population;
  }
  for (const uint64_t population : {uint64_t{6'000}, uint64_t{100'000'000}}) {
    EXPECT_EQ(retry_window(population, Millis(0), kPace, "").max_ms, 60'000u) << population;
  }
}

TEST(RetryWindow, BeginsAfterTheTimeBeforeWhichNobodyIsWanted) {
  const RetryWindow window = retry_window(3'000, Millis(7'000), kPace, "");
  EXPECT_EQ(window.min_ms, 7'000u);
  EXPECT_EQ(window.max_ms, 37'000u);
  EXPECT_EQ(retry_window(0, Millis(-5), kPace, "").min_ms, 0u);
  EXPECT_EQ(retry_window(0, Millis::max(), kPace, "").min_ms, 60'000u);
}

TEST(RetryWindow, IsInOrderForEverySetting) {
  for (const uint32_t rate : {1u, 7u, 1'000'000u}) {
    for (uint64_t population = 0; population < 1'000'000'000; population = population * 7 + 1) {
      const RetryWindow window = retry_window(population, Millis(123), {.checkins_per_second_max = rate}, "");
      ASSERT_LE(window.min_ms, window.max_ms);
      ASSERT_GE(window.max_ms - window.min_ms, 1'000u);
      ASSERT_LE(window.max_ms - window.min_ms, 3'600'000u);
    }
  }
}

}  // namespace
}  // namespace coterie
