// CutTrial: whether running the parts of a step at the same time is worth it, found by trying. So is whether to cut any
// step of a phase at all: what another core wrote is slow to read, which the steps behind pay for.
//
// No estimate knows how fast a phone's small cores are beside its large ones, nor who else uses a core. Both ways give
// the same bits (ADR 11), so each is timed a few times, and the faster one kept for a while.
#pragma once

#include <cstdint>

namespace coterie {

class CutTrial {
 public:
  // Each way so often in turn, every so many runs: where cutting pays twofold, trying the other way costs 1 %.
  static constexpr uint32_t kTries = 5, kPeriod = 512;
  // Cutting pays if the median of its runs is below that of the others by so much: a second thread is not free, and on
  // a machine that others use its good runs are rarer than its best one tells.
  static constexpr float kGainMin = 1.05f;

  CutTrial() = default;
  // Cuts, untimed, so many times before it begins: less than kPeriod.
  explicit CutTrial(uint32_t warm_up) : runs_(kPeriod - warm_up) {}

  // How to run the step now, and whether to tell what it took.
  bool cuts() const { return is_timed() ? runs_ % 2 == 0 : cut_pays_; }
  bool is_timed() const { return runs_ % kPeriod < 2 * kTries; }

  // After each run; `seconds` counts if it was to be timed.
  void ran(float seconds = 0);

 private:
  uint32_t runs_ = 0;
  float seconds_[2][kTries] = {};  // cut, whole
  bool cut_pays_ = true;
};

}  // namespace coterie
