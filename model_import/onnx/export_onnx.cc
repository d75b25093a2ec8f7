#include "model_import/onnx/export_onnx.h"

#include "model_import/export/export_graph.h"
#include "model_import/onnx/write_onnx.h"

namespace coterie::model_import {

Result<Bytes> export_onnx(const Model& model) {
  COT_ASSIGN(const Graph graph, export_graph(model));
  return write_onnx(graph);
}

Result<Bytes> export_int8_onnx(const Int8Model& model) {
  COT_ASSIGN(const ExportGrids grids, export_grids(model));
  COT_ASSIGN(const Graph graph, export_graph(model.exact, &grids));
  return write_onnx(graph);
}

}  // namespace coterie::model_import
