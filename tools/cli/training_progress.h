// What training says while it runs: one line an epoch, the present one kept up to date where the terminal can do that.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "base/time.h"
#include "device_sdk/runtime/trainer.h"
#include "tools/demo/progress.h"

namespace coterie {

struct TrainingMoment {
  uint64_t epoch = 1, epochs = 1;  // counted from 1
  uint64_t steps = 0, steps_in_all = 1;
  double loss = NAN;      // mean over the epoch so far, with what came before a resume
  double accuracy = NAN;  // likewise; NaN where there is none
  double examples_per_second = 0;
  double seconds_left = 0;  // of the whole training; 0 where it cannot be told
};

// "epoch 2/3  ━━━━━╸────  loss 0.412  accuracy  91.3 %  12,345 samples/s  about 12 s left"; the
// bar, of the whole training, only on a live terminal. Pure.
std::string training_line(const TrainingMoment& moment, const Terminal& terminal);

// What the last look at the validation examples came to: "validation loss 0.4123, the lowest so far". Pure.
std::string validation_line(double loss, const ValidationSummary& validation);

// Watches a trainer from step to step.
class TrainingProgress {
 public:
  // From the trainer's present state on, in its `epoch`, counted from 1. The summary's `correct` counts if
  // is_classified.
  TrainingProgress(const Trainer& trainer, uint64_t epoch, uint64_t epochs, bool is_classified, bool is_quiet,
                   Instant now);

  // After each step; `ends_epoch` if it was the last of an epoch, or of the training.
  void after_step(bool ends_epoch, Instant now);
  const TrainingMoment& moment() const { return moment_; }
  void tell(const std::string& line) { line_.print(line); }
  void clear() { line_.clear(); }

 private:
  void measure(Instant now);

  const Trainer& trainer_;
  bool is_classified_;
  ProgressLine line_;
  Instant begin_, shown_;
  TrainingSummary first_, epoch_start_;
  TrainingMoment moment_;
};

}  // namespace coterie
