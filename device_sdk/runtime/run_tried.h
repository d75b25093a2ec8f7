// Runs something one of two ways, as a CutTrial says, and tells it what that took.
#pragma once

#include <chrono>

#include "device_sdk/runtime/cut_trial.h"

namespace coterie {

// `run` is called once, with whether to cut.
template <typename Run>
void run_tried(CutTrial& trial, const Run& run) {
  using Clock = std::chrono::steady_clock;
  if (!trial.is_timed()) {
    run(trial.cuts());
    return trial.ran();
  }
  const Clock::time_point begin = Clock::now();
  run(trial.cuts());
  trial.ran(std::chrono::duration<float>(Clock::now() - begin).count());
}

}  // namespace coterie
