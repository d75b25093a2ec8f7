#include "tests/bench/step_limit.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/bench/fma_peak.h"
#include "tests/bench/thread_time.h"

namespace coterie::bench {
namespace {

// Bytes a second that memcpy reads and writes, both counted, between two halves of a block of so many bytes.
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

}  // namespace

StepLimit step_limit(const StepWork& work, std::string_view kernels) {
  const uint64_t working_set = 3 * sizeof(float) * work.parameters + work.activation_bytes;
  const double traffic =
      5.0 * sizeof(float) * static_cast<double>(work.parameters) + 4.0 * static_cast<double>(work.activation_bytes);
  const double rate = copy_rate(std::clamp<uint64_t>(working_set, 32 << 10, 256 << 20));
  return {.flop_ms = work.flops / fma_peak(kernels) * 1e3, .traffic_ms = traffic / rate * 1e3};
}

}  // namespace coterie::bench
