// How good is a model, and is it one at all: the lite runtime, as the server uses it.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "fl_server/finalize/finalizer.h"

namespace coterie {

// For Finalizer: the mean of the job's loss, and the accuracy, of a model file on a data set file. Where the targets
// are numbers and the loss is a distance from them, mean absolute error (in the unit that the file says) and R2
// instead. With heads the loss is the weighted sum of theirs, the other figures are those of the first, and each head
// has its own. A job with clusters is judged by that model which loses least.
Result<ModelEvaluation> evaluate_model(const Bytes& model, const Bytes& dataset, const TrainingSettings& training);

// For uploads: malformed, with the op's name, if devices could not load this model.
Status check_model(const Bytes& model);

// For jobs: invalid_argument, with what is wrong, if devices could not train this model so: a loss that does not stand
// at its output, a pattern that names no parameter, nothing that is left to train.
Status check_training(const Bytes& model, const TrainingSettings& training);

// For jobs that evaluate models: invalid_argument, with what is wrong, if devices could not evaluate this one so.
Status check_evaluated_model(const Bytes& model, const AnalyticsRules& rules);

}  // namespace coterie
