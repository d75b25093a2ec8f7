// The day by which a store says when a device was seen last: a number that it counts itself. Pure.
//
// A clock that jumps ahead by a year, or a server that was off for one, makes one day of it: devices are forgotten for
// days on which somebody was there to see them, and not for a wrong date.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace coterie {

inline constexpr Millis kDeviceDay{86'400'000};

struct DeviceDay {
  uint64_t number = 0;
  WallTime began;

  // The day at `now`: this one, or the next. A clock that was put back begins this one again.
  DeviceDay at(WallTime now) const {
    if (now < began) return {number, now};
    return now - began >= kDeviceDay ? DeviceDay{number + 1, now} : *this;
  }
  friend bool operator==(const DeviceDay&, const DeviceDay&) = default;
};

}  // namespace coterie
