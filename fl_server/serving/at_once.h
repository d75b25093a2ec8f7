// Which requests a network thread computes itself, at once, instead of giving them to a worker and getting them back:
// those two changes of threads take longer than a small model does. Pure.
//
// A request is computed at once if its expected cost fits into what the thread may still spend in this pass over its
// sockets. So nobody else on the thread waits for more than that, however many ask for small models, and a model that
// is not small goes to the workers. What was never measured does, too: they measure it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace coterie {

using Nanos = std::chrono::nanoseconds;

// What rows of one version cost, as a moving value for each size: 1, 2, 4, 8 ... rows. Thread-safe; of two that observe
// the same size at the same time, one may be lost.
class ComputeCost {
 public:
  // So many rows took so long, all together. At least 1 row. One observation counts as at most twice what was expected:
  // a thread that loses its core in between says nothing about the model.
  void observe(uint64_t rows, Nanos took);
  // Rather too much than too little: of the next size up. None: nothing was observed, or they are too many.
  std::optional<Nanos> expected(uint64_t rows) const;

 private:
  static constexpr size_t kSizes = 16;   // up to 32,768 rows: more are for workers in any case
  static constexpr Nanos kLeast{1'000};  // about what the locks around it cost
  static constexpr Nanos kMost = std::chrono::hours(1);
  static constexpr int64_t kWeight = 8;               // an eighth of the difference is believed
  std::array<std::atomic<int64_t>, kSizes> nanos_{};  // of so many rows; 0: never observed
};

// What one network thread has computed itself since it looked at its sockets. Belongs to that thread.
class SocketPass {
 public:
  bool has_room(Nanos expected, Nanos max) const { return expected <= max - spent_; }
  void spend(Nanos took) { spent_ += took; }
  // True once a pass: then end() is to be called when the thread has looked at its sockets.
  bool begins() { return !std::exchange(has_begun_, true); }
  void end() { *this = {}; }

 private:
  Nanos spent_{0};
  bool has_begun_ = false;
};

}  // namespace coterie
