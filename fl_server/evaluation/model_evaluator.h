// How good is a model, and is it one at all: the lite runtime, as the server uses it.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "fl_server/finalize/finalizer.h"

namespace coterie {

// For Finalizer: the mean loss and the accuracy of a model file on a data set file.
Result<ModelEvaluation> evaluate_model(const Bytes& model, const Bytes& dataset, Loss loss);

// For uploads: malformed, with the op's name, if devices could not load this model.
Status check_model(const Bytes& model);

}  // namespace coterie
