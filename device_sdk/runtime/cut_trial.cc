#include "device_sdk/runtime/cut_trial.h"

namespace coterie {
namespace {

// That which half of the others are below, found without a sort: this is in every build for size.
float median(const float (&tries)[CutTrial::kTries]) {
  for (const float one : tries) {
    uint32_t below = 0, equal = 0;
    for (const float other : tries) {
      below += other < one ? 1 : 0;
      equal += other == one ? 1 : 0;
    }
    if (below <= CutTrial::kTries / 2 && CutTrial::kTries / 2 < below + equal) return one;
  }
  return tries[0];
}

}  // namespace

void CutTrial::ran(float seconds) {
  const uint32_t run = runs_++ % kPeriod;
  if (run >= 2 * kTries) return;
  seconds_[run % 2][run / 2] = seconds;
  if (run + 1 == 2 * kTries) cut_pays_ = median(seconds_[0]) * kGainMin < median(seconds_[1]);
}

}  // namespace coterie
