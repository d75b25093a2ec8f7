// ThreadLooks: whether each of several threads still comes round to what it has to do.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace coterie {

class ThreadLooks {
 public:
  explicit ThreadLooks(size_t threads) : looks_(threads), seen_(threads) {}

  // Called by the thread itself.
  void looked(size_t thread) { looks_[thread].fetch_add(1, std::memory_order_relaxed); }
  // Whether each thread has looked since the last call. By one caller alone.
  bool have_all_looked() {
    bool all = true;
    for (size_t thread = 0; thread < looks_.size(); ++thread) {
      const uint64_t now = looks_[thread].load(std::memory_order_relaxed);
      all = std::exchange(seen_[thread], now) != now && all;
    }
    return all;
  }

 private:
  std::vector<std::atomic<uint64_t>> looks_;
  std::vector<uint64_t> seen_;
};

}  // namespace coterie
