// A TFLite table as an imported graph: operators of ONNX's vocabulary (model_import/graph/graph.h).
//
//   Layout     Values keep the file's names, shapes and order: images are NHWC. Around each operator that ONNX has for
//              NCHW stand Transpose nodes; the converter moves no elements for them. Weights are put into ONNX's order.
//   Activation A fused one is a node of its own behind the operator.
//   Batch      The first dimension is that of the file, and is the batch (model_import/convert/import_graph.h).
//   Numbers    `real`: every value is a float; integers of constants are scale * (integer - zero). `qdq`: values and
//              tables of int8 and uint8 pass QuantizeLinear and DequantizeLinear with the file's grids. A softmax or
//              logistic that the graph ends with is float in both: its grid is only how the file hands out the answer.
//              Inputs and outputs are floats in both; QUANTIZE and DEQUANTIZE become nothing.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model_import/graph/graph.h"
#include "model_import/tflite/tflite_model.h"

namespace coterie::model_import {

enum class TfliteNumbers : uint8_t { real, qdq };

// How the values between a file's operators are computed.
enum class TfliteForm : uint8_t { real, int8, int16 };  // int8: or uint8; int16: with weights of int8 ("16x8")
TfliteForm form_of(const TfliteModel& model);

// Sorted. Errors name the operator: invalid_argument (a form that has no counterpart), malformed (operands that do not
// fit).
Result<Graph> make_graph(const TfliteModel& model, TfliteNumbers numbers);

}  // namespace coterie::model_import
