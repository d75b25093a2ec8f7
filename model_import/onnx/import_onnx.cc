#include "model_import/onnx/import_onnx.h"

#include <utility>

#include "device_sdk/runtime/seal.h"
#include "model_import/onnx/read_onnx.h"

namespace coterie::model_import {

Result<ImportedModel> import_onnx(ByteView file, const ImportOptions& options) {
  COT_ASSIGN(Graph graph, read_onnx(file));
  COT_ASSIGN(ImportedModel imported, import_graph(std::move(graph), options));
  seal(imported.model);
  return imported;
}

}  // namespace coterie::model_import
