// A TFLite file computed as TensorFlow Lite's reference kernels define it: slow, operator by operator, and by code of
// its own. What a conversion makes of the file is held against it (ADR 153).
//
//   Integers  CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV, FULLY_CONNECTED, BATCH_MATMUL, ADD, SUB, MUL, LEAKY_RELU,
//             RELU and its kin, QUANTIZE, the pools, and what moves elements: with fixed-point multipliers, to the
//             bit. Sums of int8 have 32 bits, those of int16 with a bias of int64 have 64, as there.
//   Reals     everything else, and every file in floats: in doubles. Where such an operator stands between integers (a
//             softmax, a logistic), its answer is rounded to the nearest on its grid, ties away from zero; the kernels
//             there use tables and fixed-point series, so that a step may lie between them.
#pragma once

#include <vector>

#include "base/result.h"
#include "model_import/tflite/tflite_model.h"
#include "model_import/tflite_reference/array.h"

namespace coterie::model_import {

// The outputs in order, for inputs of the sizes that the file shows. Errors name the operator: malformed (operands that
// do not fit each other or the shapes that the file gives), invalid_argument (other inputs), too_large.
Result<std::vector<TfliteArray>> run_tflite(const TfliteModel& model, const std::vector<TfliteArray>& inputs);

}  // namespace coterie::model_import
