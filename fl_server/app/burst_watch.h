// BurstWatch: when memory should go back to the system: a burst is over, and has been for a while. Pure.
//
// An allocator keeps what is freed below anything that lives, and a pool keeps bodies for the next: after a burst that
// is most of what the process has. To give it back at once would make every pause between two rounds cost page faults.
#pragma once

#include <algorithm>
#include <cstdint>

namespace coterie {

class BurstWatch {
 public:
  static constexpr uint64_t kWorthBytes = 32ull << 20;  // what is less is kept
  static constexpr int kCalmLooks = 5;

  // What is held now, at each look. True: give back what is free.
  bool observe(uint64_t held_bytes) {
    peak_ = std::max(peak_, held_bytes);
    const bool is_calm = held_bytes <= peak_ / 4 && peak_ - held_bytes >= kWorthBytes;
    calm_looks_ = is_calm ? calm_looks_ + 1 : 0;
    if (calm_looks_ < kCalmLooks) return false;
    peak_ = held_bytes;
    calm_looks_ = 0;
    return true;
  }

 private:
  uint64_t peak_ = 0;  // since memory was given back last
  int calm_looks_ = 0;
};

}  // namespace coterie
