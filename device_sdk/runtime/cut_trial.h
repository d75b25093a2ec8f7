// CutTrial: whether running the parts of a step at the same time is worth it, found by trying.
//
// No estimate knows how fast a phone's small cores are beside its large ones, nor who else uses a core. Both ways give the
// same bits (ADR 11), so each is timed a few times, and the faster one kept for a while.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace coterie {

class CutTrial {
 public:
  // Each way so often in turn, every so many runs: where cutting pays twofold, trying the other way costs 0.6 %.
  static constexpr uint32_t kTries = 3, kPeriod = 256;

  // How to run the step now, and whether to tell what it took.
  bool cuts() const { return is_timed() ? runs_ % 2 == 0 : cut_pays_; }
  bool is_timed() const { return runs_ % kPeriod < 2 * kTries; }

  // After each run; `seconds` counts if it was to be timed.
  void ran(float seconds = 0) {
    const uint32_t run = runs_ % kPeriod;
    if (run == 0) std::fill_n(best_seconds_, 2, std::numeric_limits<float>::max());
    if (is_timed()) best_seconds_[run % 2] = std::min(best_seconds_[run % 2], seconds);
    if (run + 1 == 2 * kTries) cut_pays_ = best_seconds_[0] < best_seconds_[1];
    ++runs_;
  }

 private:
  uint32_t runs_ = 0;
  float best_seconds_[2] = {};  // cut, whole
  bool cut_pays_ = true;
};

}  // namespace coterie
