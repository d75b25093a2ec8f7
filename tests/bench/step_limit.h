// The least time a training step could take on one core of this machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace coterie::bench {

struct StepWork {
  double flops = 0;  // forward and backward, a multiply-add counted as two
  uint64_t parameters = 0;
  uint64_t activation_bytes = 0;  // that backward needs
};

struct StepLimit {
  double flop_ms = 0;     // multiply-adds alone, at the peak of base/os/fma_peak.h
  double traffic_ms = 0;  // SGD with momentum reads and writes 5 floats a parameter; an activation is written and read,
                          // and so is its gradient: at the speed of memcpy in a working set of that size
  double both_ms() const { return flop_ms + traffic_ms; }
};

// Measures the peaks now, beside what is compared with them. `kernels`: the kernel table's name.
StepLimit step_limit(const StepWork& work, std::string_view kernels);

}  // namespace coterie::bench
