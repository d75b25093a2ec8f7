// An imported graph to ONNX bytes.
#pragma once

#include "base/bytes.h"
#include "model_import/graph/graph.h"

namespace coterie::model_import {

inline constexpr int64_t kOpsetWritten = 17;  // the first with LayerNormalization

// A model of opset 17, IR version 8: floats are float32, integers int64, every constant an initializer.
// Errors: too_large (protobuf holds no 2 GiB).
Result<Bytes> write_onnx(const Graph& graph);

}  // namespace coterie::model_import
