// A MindSpore Lite table as an imported graph: operators of ONNX's vocabulary (model_import/graph/graph.h).
//
//   Layout     Values keep the file's names, shapes and order: images are NHWC. Around each operator that ONNX has for
//              NCHW stand Transpose nodes; the converter moves no elements for them. Weights are put into ONNX's order.
//   Activation A fused one is a node of its own behind the operator.
//   Batch      The first dimension is that of the file, and is the batch (model_import/convert/import_graph.h).
//   Numbers    Floats; constants of float16 are widened.
#pragma once

#include "base/result.h"
#include "model_import/graph/graph.h"
#include "model_import/mslite/mslite_model.h"

namespace coterie::model_import {

// Sorted. Errors name the node: invalid_argument (a form that has no counterpart), malformed (operands that do not
// fit).
Result<Graph> make_graph(const MsliteModel& model);

}  // namespace coterie::model_import
