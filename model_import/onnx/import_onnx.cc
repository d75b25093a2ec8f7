#include "model_import/onnx/import_onnx.h"

#include <utility>

#include "model_import/onnx/read_onnx.h"

namespace coterie::model_import {

Result<ImportedModel> import_onnx(ByteView file, const ImportOptions& options) {
  COT_ASSIGN(Graph graph, read_onnx(file));
  return import_graph(std::move(graph), options);
}

}  // namespace coterie::model_import
