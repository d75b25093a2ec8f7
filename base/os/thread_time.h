// Processor time of the thread that measures: what others do meanwhile does not count.
#pragma once

#include <time.h>

namespace coterie::os {

inline double thread_cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace coterie::os
