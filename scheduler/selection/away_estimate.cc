#include "scheduler/selection/away_estimate.h"

#include <algorithm>
#include <utility>

namespace coterie {
namespace {

int64_t slot_of(Instant at) { return at.time_since_epoch() / AwayEstimate::kSlot; }

}  // namespace

void AwayEstimate::told(const RetryWindow& window, Instant now) {
  if (changes_.empty()) {
    changes_.assign(kSlots, 0);
    slot_ = slot_of(now);
  }
  pass_until(slot_of(now));
  // From the slot after this one at the earliest, so that what is being passed does not change.
  const int64_t begin = std::clamp(slot_of(now + Millis(window.min_ms)), slot_ + 1, slot_ + kSlots - 3);
  const int64_t end = std::clamp(slot_of(now + Millis(window.max_ms)) + 1, begin + 1, slot_ + kSlots - 1);
  // A device that was told a window is spread over its slots as kOne parts, in whole numbers: sums of fractions would
  // drift from 0. The rest of the division goes into the last slot.
  const auto each = static_cast<int64_t>(kOne / static_cast<uint64_t>(end - begin));
  const auto rest = static_cast<int64_t>(kOne % static_cast<uint64_t>(end - begin));
  change_at(begin) += each;
  change_at(end - 1) += rest;
  change_at(end) -= each + rest;
  away_ += static_cast<int64_t>(kOne);
}

uint64_t AwayEstimate::away(Instant now) {
  if (changes_.empty()) return 0;
  pass_until(slot_of(now));
  return (static_cast<uint64_t>(away_) + kOne / 2) / kOne;
}

void AwayEstimate::pass_until(int64_t slot) {
  if (slot - slot_ >= kSlots) {  // all are back
    std::fill(changes_.begin(), changes_.end(), 0);
    returning_ = away_ = 0;
    slot_ = slot;
  }
  while (slot_ < slot) {
    away_ -= returning_;
    ++slot_;
    returning_ += std::exchange(change_at(slot_), 0);
  }
}

}  // namespace coterie
