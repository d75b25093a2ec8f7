// Graphs of ONNX before opset 11 as graphs of opset 11.
#pragma once

#include "base/result.h"
#include "model_import/graph/graph.h"

namespace coterie::model_import {

// Does nothing from opset 11 on. Before, each node must be of an operator whose meaning is the same, or that is
// rewritten: attributes that have become operands (Clip, Pad, Slice, TopK, Upsample). Errors: invalid_argument (an
// operator that meant something else, or is not known from then: by the node's name). Source: onnx/docs/Changelog.md.
Status upgrade(Graph& graph);

}  // namespace coterie::model_import
