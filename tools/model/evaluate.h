// How good a model file is on a data set file.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "device_sdk/runtime/evaluator.h"

namespace coterie {

// Softmax cross entropy and accuracy. Errors: what is wrong with either file, or that they do not fit each other.
Result<Evaluation> evaluate(Bytes model_file, Bytes dataset_file);

}  // namespace coterie
