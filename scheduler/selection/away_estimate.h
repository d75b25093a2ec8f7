// AwayEstimate: how many devices that were told when to come back are still away. Pure.
//
// A device that was told a window comes back at a uniformly random moment of it: until the window begins it is away,
// then it is so with a probability that falls to 0 at the window's end. The sum of these is the expected number of
// those who are away, and with those who wait it is the size of the population that is here at all, whatever was
// enrolled once. Nobody is remembered: what is kept is how many are expected back in each second of the next two hours,
// so that a call takes constant time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "proto/messages/checkin.h"

namespace coterie {

class AwayEstimate {
 public:
  // A device has left with this window. What is beyond kHorizon counts as its end.
  void told(const RetryWindow& window, Instant now);
  // Still away, rounded; `now` does not go back.
  uint64_t away(Instant now);

  static constexpr Millis kSlot{1'000};
  static constexpr int64_t kSlots = 8'192;
  static constexpr Millis kHorizon = kSlot * (kSlots - 2);

 private:
  static constexpr uint64_t kOne = 1ull << 32;  // a device, in fixed point: sums stay exact

  void pass_until(int64_t slot);
  int64_t& change_at(int64_t slot) { return changes_[static_cast<size_t>(slot % kSlots)]; }

  std::vector<int64_t>
      changes_;            // of returning_, at the beginning of each slot from slot_ + 1 on; empty: nobody was told
  int64_t slot_ = 0;       // the present one
  int64_t returning_ = 0;  // expected back in the present slot
  int64_t away_ = 0;
};

}  // namespace coterie
