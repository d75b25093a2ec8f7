#include "scheduler/selection/away_estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <queue>

#include "base/random.h"
#include "scheduler/selection/pace.h"

namespace coterie {
namespace {

Instant at(int64_t ms) { return Instant(Millis(50'000'000 + ms)); }
RetryWindow window(uint32_t min_ms, uint32_t max_ms) { return {min_ms, max_ms, ""}; }

TEST(AwayEstimate, CountsWhoWasToldUntilTheirWindowBeginsAndThenFewerAndFewer) {
  AwayEstimate estimate;
  EXPECT_EQ(estimate.away(at(0)), 0u);
  for (int i = 0; i < 1'000; ++i) estimate.told(window(10'000, 20'000), at(0));
  EXPECT_EQ(estimate.away(at(0)), 1'000u);
  EXPECT_EQ(estimate.away(at(9'999)), 1'000u);
  EXPECT_NEAR(static_cast<double>(estimate.away(at(15'500))), 500, 100);
  EXPECT_EQ(estimate.away(at(22'000)), 0u);
}

TEST(AwayEstimate, ForgetsEverybodyAfterALongTimeAndCountsOn) {
  AwayEstimate estimate;
  estimate.told(window(0, UINT32_MAX), at(0));
  EXPECT_EQ(estimate.away(at(0)), 1u);
  EXPECT_EQ(estimate.away(at(AwayEstimate::kHorizon.count() * 3)), 0u);
  estimate.told(window(0, 1'000), at(AwayEstimate::kHorizon.count() * 3));
  EXPECT_EQ(estimate.away(at(AwayEstimate::kHorizon.count() * 3)), 1u);
}

TEST(AwayEstimate, NobodyIsLostToRounding) {
  constexpr uint64_t kSeeds = 20;
  std::printf("%llu seeds\n", static_cast<unsigned long long>(kSeeds));
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Prng prng(seed);
    AwayEstimate estimate;
    int64_t now = 0;
    for (int i = 0; i < 2'000; ++i) {
      now += static_cast<int64_t>(prng.below(3'000));
      const auto min = static_cast<uint32_t>(prng.below(3'600'000));
      estimate.told(window(min, min + static_cast<uint32_t>(prng.below(3'600'000))), at(now));
      ASSERT_LE(estimate.away(at(now)), static_cast<uint64_t>(i + 1));
    }
    EXPECT_EQ(estimate.away(at(now + 7'300'000)), 0u) << seed;
    EXPECT_EQ(estimate.away(at(now + 30'000'000)), 0u) << seed;
  }
}

// Devices that are not needed, steered by nothing but the windows they are told: the estimate finds their number, and
// they come at the rate that was asked for.
TEST(AwayEstimate, SteersAPopulationOfUnknownSizeToTheRateThatWasAskedFor) {
  constexpr uint64_t kSeeds = 2;
  std::printf("%llu seeds\n", static_cast<unsigned long long>(kSeeds));
  constexpr PaceSettings kPace{
      .checkins_per_second_max = 100, .window_min = Millis(1'000), .window_max = Millis(3'600'000)};
  for (const uint64_t devices : {uint64_t{3'000}, uint64_t{15'000}}) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      Prng prng(seed);
      std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> comes;
      for (uint64_t i = 0; i < devices; ++i) comes.push(static_cast<int64_t>(prng.below(10'000)));  // all at once
      AwayEstimate estimate;
      constexpr int64_t kEnd = 2'400'000, kMeasuredFrom = kEnd - 1'000'000;
      uint64_t measured = 0;
      while (comes.top() < kEnd) {
        const int64_t now = comes.top();
        comes.pop();
        measured += now >= kMeasuredFrom;
        const RetryWindow told = paced_window(0, estimate.away(at(now)), Millis(0), kPace, "");
        estimate.told(told, at(now));
        comes.push(now + told.min_ms + static_cast<int64_t>(prng.below(told.max_ms - told.min_ms + 1)));
      }
      const double rate = static_cast<double>(measured) / 1'000;
      if (seed == 1)
        std::printf("%llu devices: %.1f a second, %llu away\n", static_cast<unsigned long long>(devices), rate,
                    static_cast<unsigned long long>(estimate.away(at(kEnd))));
      EXPECT_NEAR(rate, 100, 10) << devices << " devices, seed " << seed;
      EXPECT_NEAR(static_cast<double>(estimate.away(at(kEnd))), static_cast<double>(devices),
                  0.05 * static_cast<double>(devices));
    }
  }
}

}  // namespace
}  // namespace coterie
