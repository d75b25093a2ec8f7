// coterie-bench-accounting: privacy loss distributions of DP-SGD, milliseconds a figure, one thread.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "secure/dp/account/limits.h"
#include "secure/dp/account/noise_rdp.h"
#include "secure/dp/account/pld.h"

namespace {

using namespace coterie;
using Clock = std::chrono::steady_clock;

constexpr int kRuns = 7;

template <typename Work>
double median_ms(Work work) {
  std::vector<double> times;
  for (int run = 0; run < kRuns; ++run) {
    const auto begin = Clock::now();
    work();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void measure(double rate, double noise_multiplier, uint64_t steps, double delta) {
  const Composition composition = {
      {GaussianNoise{noise_multiplier}, Sampling::assume_poisson(rate, "a benchmark").value(), steps}};
  double pld = 0;
  double rdp = 0;
  const double pld_ms = median_ms([&] { pld = pld_epsilon(composition, delta).value(); });
  const double rdp_ms = median_ms([&] { rdp = rdp_of(composition).value().epsilon(delta).epsilon; });
  std::printf(
      "{\"bench\":\"accounting\",\"steps\":%llu,\"rate\":%g,\"noise_multiplier\":%g,\"delta\":%g,\"pld_ms\":%.2f,"
      "\"pld_epsilon\":%.6f,\"rdp_ms\":%.2f,\"rdp_epsilon\":%.6f}\n",
      static_cast<unsigned long long>(steps), rate, noise_multiplier, delta, pld_ms, pld, rdp_ms, rdp);
}

}  // namespace

int main() {
  measure(0.001, 1, 100'000, 1e-8);
  measure(0.01, 1, 1000, 1e-5);
}
