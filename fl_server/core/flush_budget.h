// FlushBudget: when the next batch may be flushed, so that flushing takes about a ninth of the time at most. Pure.
//
// A flush costs the same for one update as for many. Each millisecond earns a credit of 1/9 ms of flush time, of which
// at most one flush's worth is kept. While there is credit a batch is flushed at once; the flush that uses up the rest
// may overdraw it. After an idle time two flushes may thus follow each other, then one in nine times its cost.
//
// It is kept as the time at which the overdraft is paid back (a virtual schedule, as in the generic cell rate
// algorithm, ITU-T I.371), so that nothing has to be updated while time passes.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace coterie {

class FlushBudget {
 public:
  // `first_cost`: what a flush is taken to cost until one has ended. Nobody waits for credit longer than `wait_max`.
  FlushBudget(Millis first_cost, Millis wait_max) : cost_(first_cost), wait_max_(wait_max) {}

  // There is credit from this time on.
  Instant due() const { return due_; }
  Millis cost() const { return cost_; }  // of the flush that ended last

  // A flush begins. What it costs is not known yet, so it is charged what the last one cost. Hand that to ended().
  Millis began(Instant now) {
    charge(std::max(due_, now - kTimePerFlushTime * cost_), cost_, now);
    return cost_;
  }
  void ended(Millis charged, Millis cost, Instant now) {
    charge(due_, cost - charged, now);
    cost_ = cost;
  }

 private:
  static constexpr int kTimePerFlushTime = 9;

  void charge(Instant from, Millis cost, Instant now) {
    due_ = std::min(from + kTimePerFlushTime * cost, now + wait_max_);
  }

  Millis cost_;
  Millis wait_max_;
  Instant due_ = Instant::min();
};

}  // namespace coterie
