#include "base/os/copy_rate.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/os/thread_time.h"

namespace coterie::os {

double copy_rate(size_t bytes) {
  const size_t half = bytes / 2;
  std::vector<char> from(half, 1), to(half, 2);
  const size_t copies = std::max<size_t>(1, (size_t{64} << 20) / half);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double before = thread_cpu_seconds();
    for (size_t copy = 0; copy < copies; ++copy) {
      std::memcpy(to.data(), from.data(), half);
      __asm__ volatile("" : : "r"(to.data()) : "memory");
    }
    best = std::min(best, (thread_cpu_seconds() - before) / static_cast<double>(copies));
  }
  return 2.0 * static_cast<double>(half) / best;
}

}  // namespace coterie::os
