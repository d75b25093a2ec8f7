#include "fl_server/core/clock_watch.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

Now at(int64_t instant_ms, int64_t wall_ms) { return {Instant(Millis(instant_ms)), WallTime(Millis(wall_ms))}; }

TEST(ClockWatch, SaysByHowMuchTheWallClockWasSet) {
  ClockWatch watch(at(0, 100'000));
  EXPECT_EQ(watch.look(at(1'000, 101'000)), Millis(0));
  EXPECT_EQ(watch.look(at(2'000, 162'000)), Millis(60'000));
  EXPECT_EQ(watch.look(at(3'000, 163'000)), Millis(0)) << "it was told";
  EXPECT_EQ(watch.look(at(4'000, 64'000)), Millis(-100'000));
}

TEST(ClockWatch, LeavesClocksTheirOwnSteps) {
  ClockWatch watch(at(0, 100'000));
  EXPECT_EQ(watch.look(at(1'000, 101'500)), Millis(0));
  EXPECT_EQ(watch.look(at(2'000, 103'001)), Millis(501));
}

TEST(ClockWatch, ALookTooEarlyIsNone) {
  ClockWatch watch(at(0, 100'000));
  EXPECT_EQ(watch.next_look(), Instant(Millis(1'000)));
  EXPECT_EQ(watch.look(at(999, 200'000)), Millis(0));
  EXPECT_EQ(watch.look(at(1'000, 200'001)), Millis(99'001)) << "and nothing is missed";
}

}  // namespace
}  // namespace coterie
