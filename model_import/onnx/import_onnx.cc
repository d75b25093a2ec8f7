#include "model_import/onnx/import_onnx.h"

#include <utility>

#include "device_sdk/runtime/seal.h"
#include "model_import/onnx/read_onnx.h"
#include "model_import/quantised/import_int8.h"
#include "model_import/quantised/qdq.h"

namespace coterie::model_import {

Result<ImportedModel> import_onnx(ByteView file, const ImportOptions& options) {
  COT_ASSIGN(Graph graph, read_onnx(file));
  if (has_qdq(graph)) return import_int8_graph(std::move(graph), options);
  COT_ASSIGN(ImportedModel imported, import_graph(std::move(graph), options));
  seal(imported.model);
  return imported;
}

}  // namespace coterie::model_import
