// The real clocks. Only shells include this; pure code is handed a Now.
#pragma once

#include <chrono>

#include "base/time.h"

namespace coterie::os {

inline Instant monotonic_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return Instant(std::chrono::duration_cast<Millis>(since));
}

inline WallTime wall_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return WallTime(std::chrono::duration_cast<Millis>(since));
}

inline Now now() { return {monotonic_now(), wall_now()}; }

}  // namespace coterie::os
