// How good a model file is on a data set file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/loss_heads.h"
#include "proto/messages/plan.h"

namespace coterie {

// With what there is of a target that is a number (device_sdk/runtime/metrics.h), mae in its own unit, and with heads
// each of them.
struct ModelScore : Evaluation {
  std::optional<double> mae = {}, r2 = {};
  std::vector<HeadResult> heads = {};
};

// `loss` and accuracy, or with numbers `loss`, mean absolute error and R2; with heads these of the model's own output,
// and what each head has come to. A file with the models of clusters is judged
// by that which loses least. Errors: what is wrong with either file, or that they do not fit each other.
Result<ModelScore> evaluate(Bytes model_file, Bytes dataset_file, const LossSettings& loss = {});

// How good what each width of a job has of its model is by itself, but for the first, which is the whole; none of other
// jobs. Errors: as above, and narrow_model's.
Result<std::vector<ModelScore>> evaluate_widths(Bytes model_file, const Bytes& dataset_file,
                                                const TrainingSettings& training);

}  // namespace coterie
