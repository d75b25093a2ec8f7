#include "base/time.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/os/clock.h"

namespace coterie {
namespace {

static_assert(!std::is_convertible_v<Instant, WallTime> && !std::is_constructible_v<Instant, WallTime>);

template <typename A, typename B>
constexpr bool kSubtractable = requires(A a, B b) { a - b; };
static_assert(kSubtractable<Instant, Instant> && !kSubtractable<Instant, WallTime>, "the two times do not mix");

TEST(WallTime, IsMillisecondsSince1970) {
  for (const int64_t ms : {int64_t{0}, int64_t{-1}, int64_t{1'700'000'000'123}, std::numeric_limits<int64_t>::max(),
                           std::numeric_limits<int64_t>::min()}) {
    EXPECT_EQ(unix_ms(wall_time_from_unix_ms(ms)), ms);
  }
  EXPECT_EQ(wall_time_from_unix_ms(1000) + Millis(5), wall_time_from_unix_ms(1005));
}

TEST(Clocks, MonotonicNeverGoesBackAndWallIsOfThisCentury) {
  Instant last = os::monotonic_now();
  for (int i = 0; i < 1000; ++i) {
    const Now now = os::now();
    EXPECT_GE(now.instant, last);
    last = now.instant;
  }
  EXPECT_GT(unix_ms(os::wall_now()), 1'600'000'000'000) << "2020";
  EXPECT_LT(unix_ms(os::wall_now()), 4'102'444'800'000) << "2100";
}

}  // namespace
}  // namespace coterie
