// Trainings with several heads: each an output of the model with a loss of its own, of which the weighted sum is
// lowered.
//
// An example's target has those of all heads, one behind the other in their order, each of them as its loss alone
// would have it (loss_rule.h). With TargetKind::labels all are int32. With TargetKind::values all cells are float32:
// losses by class and of embeddings read whole numbers there, the others numbers of their output's shape.
//
// The loss of a batch is the sum of weight times loss over the heads, each loss the mean over its own rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/train_options.h"

namespace coterie {

// What a head's answers are measured by beside its loss.
enum class HeadMeasure : uint8_t { none, accuracy, mean_absolute_error };
std::string_view to_string(HeadMeasure measure);  // "none", "accuracy", "mae"

// What a head has come to.
struct HeadResult {
  std::string output;
  Loss loss = Loss::softmax_cross_entropy;
  float weight = 1;
  uint64_t rows = 0;     // of its output that were compared: those that are ignored are not
  double loss_mean = 0;  // of those; in training, of each step's mean the mean over the examples; not weighted
  HeadMeasure measure = HeadMeasure::none;
  double value = 0;  // accuracy in [0, 1], or the mean absolute error of the output's numbers
};

// "NAME:LOSS" or "NAME:LOSS:WEIGHT", as "age:mean_squared_error:0.5"; a name may have colons. invalid_argument.
Result<TrainingHead> parse_training_head(std::string_view text);

// Makes these the heads of a loss: its kind is that of the first.
void set_heads(LossSettings& loss, std::vector<TrainingHead> heads);

// That of the heads which needs no model. invalid_argument names the head.
Status check_loss_heads(const LossSettings& loss);

// Head i's loss as if it were alone.
LossSettings loss_of_head(const LossSettings& loss, size_t i);

// The model's own output has the first head's loss, or `loss` itself where there are no heads.
LossSettings loss_of_own_output(const LossSettings& loss);

// `width`: numbers a row of its output.
HeadMeasure measure_of(const LossSettings& head, uint64_t width);

// The tensors of the heads' outputs. invalid_argument: one names no output of the model, or the first is not the
// model's own.
Result<std::vector<uint32_t>> head_tensors(const ModelGraph& graph, const LossSettings& loss);

// Numbers of an example's target. Errors: as head_tensors, or a loss does not fit its output.
Result<uint64_t> target_elements(const Model& model, const LossSettings& loss);

}  // namespace coterie
