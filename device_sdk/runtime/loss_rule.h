// Losses: what they ask of a model's output, and the step that computes one.
#pragma once

#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/program.h"
#include "proto/messages/plan.h"

namespace coterie {

// The number of outputs; invalid_argument if the loss cannot stand behind this model. Cross-entropy needs a flat output
// of at least two classes, mean squared error a flat output.
Result<uint64_t> outputs_for_loss(const Model& model, Loss loss);

// Whether `label` is one that this loss can take with this many outputs: a class, or for a regression any number.
bool is_valid_label(Loss loss, uint64_t outputs, int32_t label);

// Emits the loss over `outputs` buffer; `gradient` may be kNoBuffer (evaluation).
void emit_loss(Program& program, Loss loss, uint64_t output_count, BufferId outputs, BufferId gradient);

}  // namespace coterie
