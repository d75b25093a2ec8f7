// Optimizers: how many slots of state they keep, and the step that updates one parameter.
#pragma once

#include "device_sdk/runtime/program.h"
#include "proto/messages/plan.h"

namespace coterie {

// Moments kept for each value: 0 (plain SGD) to 2.
uint32_t optimizer_slots(const OptimizerSettings& settings);

// What every parameter's update at step `step` (from 1) shares, computed once, in double.
OptimizerMoment optimizer_moment(const OptimizerSettings& settings, uint64_t step, double learning_rate_factor);

// invalid_argument unless the optimizer is known and its numbers in range.
Status check_optimizer(const OptimizerSettings& settings);

struct UpdateBuffers {
  BufferId gradient, values;
  BufferId slot0, slot1;  // kNoBuffer beyond optimizer_slots()
};

// Emits the update of `count` values from their gradient, the learning rate times `learning_rate_scale`.
void emit_update(Program& program, Phase phase, const OptimizerSettings& settings, float learning_rate_scale,
                 uint64_t count, const UpdateBuffers& buffers);

}  // namespace coterie
