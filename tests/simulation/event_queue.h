// Virtual time: events in order, nothing in between.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/time.h"

namespace coterie::simulation {

class EventQueue {
 public:
  using Event = std::function<void()>;

  Instant now() const { return now_; }
  // What a right clock says. A node's own may be wrong for a while (SimNode).
  WallTime wall() const { return WallTime(now_.time_since_epoch() + Millis(1'700'000'000'000)); }

  void at(Instant when, Event event) { queue_.push({std::max(when, now_), sequence_++, std::move(event)}); }
  void after(Millis delay, Event event) { at(now_ + delay, std::move(event)); }

  // Runs the next event; false if there is none.
  bool step() {
    if (queue_.empty()) return false;
    Entry next = std::move(const_cast<Entry&>(queue_.top()));
    queue_.pop();
    now_ = next.when;
    ++steps_;
    next.event();
    return true;
  }
  uint64_t steps() const { return steps_; }

 private:
  struct Entry {
    Instant when;
    uint64_t sequence;
    Event event;
    bool operator<(const Entry& other) const {
      return std::pair(when, sequence) > std::pair(other.when, other.sequence);  // the queue has its largest on top
    }
  };
  std::priority_queue<Entry> queue_;
  Instant now_{};
  uint64_t sequence_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace coterie::simulation
