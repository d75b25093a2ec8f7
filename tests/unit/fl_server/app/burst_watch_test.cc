#include "fl_server/app/burst_watch.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

constexpr uint64_t kMega = 1 << 20;

int looks_until_given_back(BurstWatch& watch, uint64_t held) {
  for (int looks = 1; looks <= 100; ++looks) {
    if (watch.observe(held)) return looks;
  }
  return 0;
}

TEST(BurstWatch, GivesBackOnceWhenABurstHasBeenOverForAWhile) {
  BurstWatch watch;
  EXPECT_FALSE(watch.observe(1'000 * kMega));
  EXPECT_EQ(looks_until_given_back(watch, 10 * kMega), BurstWatch::kCalmLooks);
  EXPECT_EQ(looks_until_given_back(watch, 10 * kMega), 0) << "there is nothing more to give back";
}

TEST(BurstWatch, KeepsWhatTheNextRoundNeeds) {
  BurstWatch watch;
  for (int round = 0; round < 100; ++round) {
    EXPECT_FALSE(watch.observe(500 * kMega));
    for (int pause = 1; pause < BurstWatch::kCalmLooks; ++pause) EXPECT_FALSE(watch.observe(0));
  }
}

TEST(BurstWatch, LeavesLittleAlone) {
  BurstWatch watch;
  EXPECT_FALSE(watch.observe(BurstWatch::kWorthBytes - 1));
  EXPECT_EQ(looks_until_given_back(watch, 0), 0);
  EXPECT_FALSE(watch.observe(400 * kMega));
  EXPECT_EQ(looks_until_given_back(watch, 101 * kMega), 0) << "the burst goes on";
}

}  // namespace
}  // namespace coterie
