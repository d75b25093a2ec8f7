#include "fl_server/store/s3/backoff.h"

#include <gtest/gtest.h>

#include <set>

namespace coterie::s3 {
namespace {

TEST(Backoff, IsUniformBelowACeilingThatDoublesUpToItsMaximum) {
  Prng prng(7);
  const int64_t ceilings[] = {100, 200, 400, 800, 1'000, 1'000};
  for (uint32_t tries = 0; tries < 6; ++tries) {
    int64_t largest = 0;
    std::set<int64_t> seen;
    for (int i = 0; i < 1'000; ++i) {
      const int64_t pause = backoff(tries, Millis(100), Millis(1'000), prng).count();
      ASSERT_GE(pause, 0);
      ASSERT_LE(pause, ceilings[tries]);
      largest = std::max(largest, pause);
      seen.insert(pause);
    }
    EXPECT_GT(largest, ceilings[tries] * 9 / 10) << tries;
    EXPECT_GT(seen.size(), 50u) << "those who fail together do not come back together";
  }
  EXPECT_LE(backoff(4'000'000'000u, Millis(100), Millis(1'000), prng), Millis(1'000));
  EXPECT_EQ(backoff(3, Millis(0), Millis(0), prng), Millis(0));
  EXPECT_LE(backoff(0, Millis(500), Millis(10), prng), Millis(10));
}

}  // namespace
}  // namespace coterie::s3
