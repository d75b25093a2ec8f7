// The real clocks. Only shells include this; pure code is handed a Now.
#pragma once

#include <time.h>

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

// CPU time that the calling thread has taken; from which moment on is nobody's business.
inline std::chrono::microseconds thread_cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::seconds(time.tv_sec) +
                                                               std::chrono::nanoseconds(time.tv_nsec));
}

inline Now now() { return {monotonic_now(), wall_now()}; }

}  // namespace coterie::os
