// Times in what an authority signs: whole seconds since 1970 UTC, of years that have four digits.
#pragma once

#include "base/time.h"

namespace coterie {

inline constexpr uint64_t kSignedSecondsMax = 253'402'300'799;  // the last one of the year 9999

inline uint64_t signed_seconds(WallTime time) {
  return static_cast<uint64_t>(std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count());
}
inline WallTime time_of_seconds(uint64_t seconds) {
  return WallTime(std::chrono::seconds(static_cast<int64_t>(seconds)));
}
inline bool is_whole_second(WallTime time) {
  return time >= WallTime{} && time <= time_of_seconds(kSignedSecondsMax) &&
         time == time_of_seconds(signed_seconds(time));
}

}  // namespace coterie
