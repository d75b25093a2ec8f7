// Operations from many threads at once, and what they cost a server in another process.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/os/clock.h"

namespace coterie::bench {

struct Rate {
  double per_second = 0;
  double per_cpu_second = 0;  // of the server
};

// Runs `operation(thread, i)` for every i in [0, count) on `threads` threads, in stripes, and measures wall time and
// `cpu_seconds()`, the server's, around it.
template <typename Operation, typename Cpu>
Rate measure(uint32_t threads, uint32_t count, Cpu cpu_seconds, Operation operation) {
  const double cpu_before = cpu_seconds();
  const Instant begin = os::monotonic_now();
  std::vector<std::thread> workers;
  for (uint32_t t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      for (uint32_t i = t; i < count; i += threads) operation(t, i);
    });
  }
  for (std::thread& worker : workers) worker.join();
  const double wall = std::chrono::duration<double>(os::monotonic_now() - begin).count();
  return {count / wall, count / (cpu_seconds() - cpu_before)};
}

}  // namespace coterie::bench
