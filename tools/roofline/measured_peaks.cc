#include "tools/roofline/measured_peaks.h"

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/os/copy_rate.h"
#include "base/os/fma_peak.h"

namespace coterie {
namespace {

constexpr uint64_t kWorkingSets[] = {32 << 10, 256 << 10, 2 << 20, 16 << 20, 128 << 20};
constexpr uint64_t kPartBytesMin = 4 << 10;  // of a working set that threads share out
constexpr int kFmaRuns = 50;                 // of .2 ms each: a clock that was slow rises

// The sum of what each thread measures while all do.
double sum_over_threads(uint32_t threads, const std::function<double()>& rate) {
  std::vector<double> rates(threads);
  std::vector<std::thread> others;
  for (uint32_t i = 1; i < threads; ++i) others.emplace_back([&rates, &rate, i] { rates[i] = rate(); });
  rates[0] = rate();
  for (std::thread& other : others) other.join();
  double sum = 0;
  for (const double each : rates) sum += each;
  return sum;
}

}  // namespace

MachinePeaks measured_peaks(uint32_t threads, std::string_view kernels) {
  MachinePeaks peaks;
  peaks.flops_per_second = sum_over_threads(threads, [kernels] {
    double best = 0;
    for (int i = 0; i < kFmaRuns; ++i) best = std::max(best, os::fma_peak(kernels));
    return best;
  });
  for (const uint64_t working_set : kWorkingSets) {
    const uint64_t part = std::max(kPartBytesMin, working_set / threads);
    peaks.memory.push_back({working_set, sum_over_threads(threads, [part] { return os::copy_rate(part); })});
  }
  return peaks;
}

}  // namespace coterie
