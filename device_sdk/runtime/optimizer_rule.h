// Optimizers: how many slots of state they keep, and the step that updates one parameter.
#pragma once

#include "device_sdk/runtime/program.h"
#include "proto/messages/plan.h"

namespace coterie {

// Moments kept for each value: 0 (plain SGD), 1 (momentum), 2 (Adam).
uint32_t optimizer_slots(const OptimizerSettings& settings);

// What Adam's step `step` (from 1) needs beside the settings: bias corrections, computed in double.
kernels::AdamStep adam_step_at(const OptimizerSettings& settings, uint64_t step);

// invalid_argument unless the optimizer is known and its numbers finite.
Status check_optimizer(const OptimizerSettings& settings);

// Emits the update of `count` values from their gradient. slots: kNoBuffer beyond optimizer_slots().
void emit_update(Program& program, Phase phase, const OptimizerSettings& settings, uint64_t count, BufferId gradient,
                 BufferId values, BufferId slot0, BufferId slot1);

}  // namespace coterie
