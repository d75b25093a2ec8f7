// ONNX models, opset 1 to 22, as model files. What becomes what: model_import/convert/import_graph.h.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "model_import/convert/import_graph.h"

namespace coterie::model_import {

// A graph with QuantizeLinear or DequantizeLinear becomes a file that computes in int8. Errors: those of read_onnx and
// of import_graph, or of import_int8_graph.
Result<ImportedModel> import_onnx(ByteView file, const ImportOptions& options = {});

}  // namespace coterie::model_import
