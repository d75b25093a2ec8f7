// Losses: what they compare a model's output with, and the step that computes one.
//
// Every loss is a mean over the rows of the output (all its dimensions but the last). `sums` counts rows: their losses
// added up, and those that are correct. With class weights and labels the mean is the weighted one of PyTorch: the sum
// divided by the weights of the rows' labels. That divisor belongs to a whole step: what of the loss is optimised and
// reported must not depend on how many examples are computed at a time (ADR 57).
#pragma once

#include "device_sdk/runtime/op_rule.h"
#include "device_sdk/runtime/program.h"
#include "device_sdk/runtime/train_options.h"

namespace coterie {

// The target of an output of this type: int32 labels, one a row (of the binary losses one an element), or float32
// values of the output's shape. invalid_argument if the loss cannot stand behind such an output.
Result<TensorType> target_for_loss(const LossSettings& loss, const TensorType& output);

// Whether `label` is one that this loss can take with so many classes: a class; 0 or 1; 1 or -1; or for mean squared
// error with one output any number.
bool is_valid_label(Loss loss, uint64_t classes, int32_t label);
std::string valid_labels(Loss loss, uint64_t classes);  // "[0, 10)"

// What stands for a label that is ignored in a batch: the kernels of losses by class pass over it, and so does whoever
// reads a batch's labels.
inline constexpr int32_t kIgnoredLabel = -1;

// Whether the loss measures how far outputs are from numbers that they should be.
bool is_distance(const LossSettings& loss);

struct LossBuffers {
  BufferId output = kNoBuffer, target = kNoBuffer, gradient = kNoBuffer;
};

// What a head of several has come to in a batch. Its step writes it where the caller can read it.
struct HeadSums {
  kernels::LossSums sums;
  double weight = 0;          // what its mean divides by
  double absolute_error = 0;  // of a distance: the numbers' differences, added up
};

// Emits the loss over the output; `gradient` may be kNoBuffer (evaluation). What `settings` holds is copied.
void emit_loss(Program& program, const LossSettings& settings, const TensorType& output_type, BufferId output,
               BufferId target, BufferId gradient);

// The same of one of several heads: its gradient is `weight` times the loss's, and what the loss comes to is not added
// to StepContext's but lies as HeadSums in `sums`, a buffer of that size.
void emit_head_loss(Program& program, const LossSettings& settings, const TensorType& output_type, float weight,
                    const LossBuffers& buffers, BufferId sums);

}  // namespace coterie
