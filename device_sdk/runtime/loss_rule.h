// Losses: what they ask of a model's output, and the step that computes one.
#pragma once

#include "device_sdk/runtime/op_rule.h"
#include "device_sdk/runtime/program.h"
#include "proto/messages/plan.h"

namespace coterie {

// What the loss compares an output of this type with: int32 labels, one for each row of the output's last dimension
// (classes). invalid_argument if the loss cannot stand behind such an output: cross-entropy needs at least two classes.
Result<TensorType> target_for_loss(Loss loss, const TensorType& output);

// Whether `label` is one that this loss can take with so many classes: a class, or for a regression (mean squared error
// with one output) any number.
bool is_valid_label(Loss loss, uint64_t classes, int32_t label);

// Emits the loss over the output; `gradient` may be kNoBuffer (evaluation).
void emit_loss(Program& program, Loss loss, const TensorType& output_type, BufferId output, BufferId target,
               BufferId gradient);

}  // namespace coterie
