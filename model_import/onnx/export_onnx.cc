#include "model_import/onnx/export_onnx.h"

#include "model_import/export/export_graph.h"
#include "model_import/onnx/write_onnx.h"

namespace coterie::model_import {

Result<Bytes> export_onnx(const Model& model) {
  COT_ASSIGN(const Graph graph, export_graph(model));
  return write_onnx(graph);
}

}  // namespace coterie::model_import
