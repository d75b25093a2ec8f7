// The learning rate over the steps of training: a factor of the optimizer's learning rate, a pure function of the step
// (and, for plateau, of the losses so far).
//
// Steps count from 0. During the first `warmup_steps` the factor rises linearly, (step + 1) / warmup_steps; the
// schedule proper begins after them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace coterie {

enum class ScheduleKind : uint8_t {
  constant,     // 1
  step,         // gamma ^ floor(t / period)                                           (PyTorch's StepLR)
  exponential,  // gamma ^ (t / period)
  cosine,       // min + (1 - min) (1 + cos(pi t / T)) / 2, T the steps left after warm-up  (CosineAnnealingLR)
  one_cycle,    // up from 1/25 to 1 over 30 % of the steps, then down to 1/250000, both along a cosine (OneCycleLR)
  plateau,      // times gamma whenever the mean loss of an epoch has not fallen below its best by 1e-4 of itself for
                // `patience` epochs                                                    (ReduceLROnPlateau)
};

struct LearningRateSchedule {
  ScheduleKind kind = ScheduleKind::constant;
  uint64_t warmup_steps = 0;
  uint64_t period = 1000;  // step, exponential: in steps
  float gamma = 0.1f;      // step, exponential, plateau; in (0, 1]
  float min = 0;           // cosine: where it ends; in [0, 1]
  uint32_t patience = 2;   // plateau: in epochs
  friend bool operator==(const LearningRateSchedule&, const LearningRateSchedule&) = default;
};

// What plateau remembers; saved with a checkpoint.
struct PlateauState {
  double best = 0;  // mean loss of the best epoch; meaningless before the first
  uint32_t epochs_seen = 0;
  uint32_t epochs_without_progress = 0;
  double factor = 1;
  friend bool operator==(const PlateauState&, const PlateauState&) = default;
};

Status check_schedule(const LearningRateSchedule& schedule);

// The factor at `step` of `steps` in all.
double learning_rate_factor(const LearningRateSchedule& schedule, uint64_t step, uint64_t steps,
                            const PlateauState& plateau);

// At the end of an epoch.
void observe_epoch(const LearningRateSchedule& schedule, double loss_mean, PlateauState& state);

// "cosine", "step:period=500,gamma=0.5", "one_cycle", "plateau:patience=3", each with an optional warmup=N.
// invalid_argument says what is wrong and what there is.
Result<LearningRateSchedule> parse_schedule(std::string_view text);

}  // namespace coterie
