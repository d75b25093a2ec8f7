// Optimizers: how many slots of state they keep, and the step that updates one parameter.
#pragma once

#include "device_sdk/runtime/program.h"
#include "proto/messages/plan.h"

namespace coterie {

// Moments kept for each value: 0 (plain SGD) to 2. Muon and Shampoo have 2 everywhere, though only what AdamW updates
// reads both.
uint32_t optimizer_slots(const OptimizerSettings& settings);

// What every parameter's update at step `step` (from 1) shares, computed once, in double.
OptimizerMoment optimizer_moment(const OptimizerSettings& settings, uint64_t step, double learning_rate_factor);

// invalid_argument unless the optimizer is known and its numbers in range.
Status check_optimizer(const OptimizerSettings& settings);

// The values that are updated: the last dimension of a parameter are the columns, as channels.h has it.
struct UpdatedMatrix {
  size_t rows, columns;
  bool is_table = false;  // of an embedding, whose rows are looked up

  bool is_linear_map() const { return rows > 1 && columns > 1 && !is_table; }
};

// What the optimizer keeps of a matrix beside its moments; 0: nothing. It begins as zeros.
uint64_t factor_values(const OptimizerSettings& settings, const UpdatedMatrix& matrix);

struct UpdateBuffers {
  BufferId gradient, values;
  BufferId slot0, slot1;         // kNoBuffer beyond optimizer_slots()
  BufferId factors = kNoBuffer;  // of factor_values() floats, if there are any
};

// Emits the update of a parameter from its gradient, the learning rate times `learning_rate_scale`. Muon and Shampoo
// update linear maps; everything else is AdamW's there.
void emit_update(Program& program, Phase phase, const OptimizerSettings& settings, float learning_rate_scale,
                 const UpdatedMatrix& matrix, const UpdateBuffers& buffers);

}  // namespace coterie
