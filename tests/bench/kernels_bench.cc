// coterie-bench-kernels: the matrix and convolution kernels on one thread, beside what the core could do.
//
//   coterie-bench-kernels [--json] [--kernels <table>] [filter]
//
// Each row: op, shape, GFLOP/s, and their share of the core's fp32 multiply-add peak with the same vectors,
// measured before and after the row in the same process (fma_peak.h). Times are medians of this thread's
// processor time. filter: only rows whose "op shape" contains it. --kernels: another table than this CPU's
// best.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/fma_peak.h"
#include "tests/bench/kernel_cases.h"
#include "tests/bench/thread_time.h"
#include "train_kernels/kernel_table.h"

namespace coterie::bench {
namespace {

constexpr double kSecondsOfRow = 0.12;
constexpr double kSecondsOfSample = 0.001;  // many calls of a small kernel are one sample
constexpr size_t kSamplesMin = 5;

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Measured {
  double seconds;            // of one call, median
  double share, share_best;  // of the peak
};

Measured measure(const KernelCase& c, const kernels::KernelTable& table) {
  c.run(table);
  double before = thread_cpu_seconds();
  c.run(table);
  const double once = std::max(1e-8, thread_cpu_seconds() - before);
  const size_t calls = std::max<size_t>(1, static_cast<size_t>(kSecondsOfSample / once));
  std::vector<double> seconds, shares;
  double peak_best = 0;
  for (double total = 0; total < kSecondsOfRow || seconds.size() < kSamplesMin;) {
    const double peak = os::fma_peak(table.name);
    before = thread_cpu_seconds();
    for (size_t i = 0; i < calls; ++i) c.run(table);
    const double spent = thread_cpu_seconds() - before;
    seconds.push_back(spent / static_cast<double>(calls));
    shares.push_back(c.flops / seconds.back() / peak);
    peak_best = std::max(peak_best, peak);
    total += spent;
  }
  const double fastest = *std::ranges::min_element(seconds);
  return {median(seconds), median(shares), c.flops / fastest / peak_best};
}

void print(const KernelCase& c, const Measured& m, std::string_view kernels, bool json) {
  const char* row = json ? "{\"bench\":\"kernels\",\"op\":\"%s\",\"shape\":\"%s\",\"us\":%.2f,\"gflops\":%.1f,"
                           "\"share\":%.3f,\"share_best\":%.3f,\"kernels\":\"%s\"}\n"
                         : "%-14s %-36s %10.1f us %8.1f GFLOP/s %6.2f best %5.2f of the %s peak\n";
  std::printf(row, c.op.c_str(), c.shape.c_str(), m.seconds * 1e6, c.flops / m.seconds * 1e-9, m.share, m.share_best,
              std::string(kernels).c_str());
  std::fflush(stdout);
}

}  // namespace
}  // namespace coterie::bench

int main(int argc, char** argv) {
  using namespace coterie;
  bool json = false;
  std::string filter;
  const kernels::KernelTable* table = &kernels::kernels();
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument == "--kernels" && i + 1 < argc) {
      const std::string_view wanted = argv[++i];
      const auto tables = kernels::supported_kernels();
      const auto found = std::ranges::find(tables, wanted, &kernels::KernelTable::name);
      if (found == tables.end()) {
        std::fprintf(stderr, "kernels: this CPU has no table %s\n", argv[i]);
        return 1;
      }
      table = &*found;
    } else {
      filter = argument;
    }
  }
  for (const bench::KernelCase& c : bench::kernel_cases(filter)) {
    bench::print(c, bench::measure(c, *table), table->name, json);
  }
  return 0;
}
