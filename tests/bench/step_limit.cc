#include "tests/bench/step_limit.h"

#include <algorithm>

#include "base/os/copy_rate.h"
#include "base/os/fma_peak.h"

namespace coterie::bench {
StepLimit step_limit(const StepWork& work, std::string_view kernels) {
  const uint64_t working_set = 3 * sizeof(float) * work.parameters + work.activation_bytes;
  const double traffic =
      5.0 * sizeof(float) * static_cast<double>(work.parameters) + 4.0 * static_cast<double>(work.activation_bytes);
  const double rate = os::copy_rate(std::clamp<uint64_t>(working_set, 32 << 10, 256 << 20));
  return {.flop_ms = work.flops / os::fma_peak(kernels) * 1e3, .traffic_ms = traffic / rate * 1e3};
}

}  // namespace coterie::bench
