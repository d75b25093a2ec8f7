// ClockWatch: whether the wall clock was set since the last look, so that it went on by another time than the monotonic
// one. Steps of less than the tolerance are the clocks' own. Pure.
#pragma once

#include "base/time.h"

namespace coterie {

class ClockWatch {
 public:
  explicit ClockWatch(Now now) : last_(now) {}

  // By how much the wall clock was put forward (back: less than 0); nothing, or a look too early, is 0.
  Millis look(Now now) {
    if (now.instant < next_look()) return Millis(0);
    const Millis step = (now.wall - last_.wall) - (now.instant - last_.instant);
    last_ = now;
    return step > kTolerance || step < -kTolerance ? step : Millis(0);
  }
  Instant next_look() const { return last_.instant + kLookEvery; }

 private:
  static constexpr Millis kTolerance{500};
  static constexpr Millis kLookEvery{1'000};
  Now last_;
};

}  // namespace coterie
