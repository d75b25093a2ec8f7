// PartTimes: when which thread of a pool ran a part of a step, for whoever traces.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace coterie {

class PartTimes {
 public:
  struct Part {
    uint32_t thread = 0;  // 0: the one that calls ThreadPool::run()
    double begin = 0, end = 0;
  };

  // `now`: a monotonic clock in seconds that all threads may read.
  PartTimes(std::function<double()> now, uint32_t threads) : now_(std::move(now)), of_threads_(threads) {}

  double now() const { return now_(); }
  // By the thread itself.
  void add(uint32_t thread, double begin) { of_threads_[thread].parts.push_back({thread, begin, now_()}); }
  // Appends all to `into`, thread by thread, and forgets them. Between two ThreadPool::run().
  void take(std::vector<Part>& into) {
    for (OfThread& each : of_threads_) {
      into.insert(into.end(), each.parts.begin(), each.parts.end());
      each.parts.clear();
    }
  }

 private:
  struct alignas(64) OfThread {  // a cache line: no thread waits for another
    std::vector<Part> parts;
  };
  const std::function<double()> now_;
  std::vector<OfThread> of_threads_;
};

}  // namespace coterie
