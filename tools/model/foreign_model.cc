#include "tools/model/foreign_model.h"

#include "device_sdk/runtime/int8/int8_model.h"
#include "model_import/mslite/import_mslite.h"
#include "model_import/mslite/read_mslite.h"
#include "model_import/onnx/import_onnx.h"
#include "model_import/onnx/read_onnx.h"
#include "model_import/tflite/import_tflite.h"
#include "model_import/tflite/read_tflite.h"

namespace coterie {

static_assert(kForeignFileBytesMax == model_import::kOnnxFileBytesMax &&
              kForeignFileBytesMax == model_import::kTfliteFileBytesMax &&
              kForeignFileBytesMax == model_import::kMsliteFileBytesMax);

Result<ForeignModel> import_foreign(ByteView file, const model_import::ImportOptions& options) {
  ForeignModel model;
  if (model_import::is_mslite(file)) {
    model.format = "MindSpore Lite";
    COT_ASSIGN(model_import::MsliteModel table, model_import::read_mslite(file));
    model.mslite = std::move(table);
    COT_ASSIGN(model.imported, model_import::import_mslite(*model.mslite, options));
    return model;
  }
  if (!model_import::is_tflite(file)) {
    COT_ASSIGN(model.imported, model_import::import_onnx(file, options));
    model.is_int8 = computes_in_int8(model.imported.model);
    return model;
  }
  model.format = "TFLite";
  COT_ASSIGN(model_import::TfliteModel table, model_import::read_tflite(file));
  model.tflite = std::move(table);
  COT_ASSIGN(model_import::ImportedTflite imported, model_import::import_tflite(*model.tflite, options));
  model.imported = std::move(imported.imported);
  model.is_int8 = imported.numbers == model_import::TfliteNumbers::qdq;
  model.is_dequantised = !model.is_int8 && imported.form != model_import::TfliteForm::real;
  return model;
}

Result<model_import::Graph> read_foreign_graph(ByteView file) {
  using namespace model_import;
  if (is_mslite(file)) {
    COT_ASSIGN(const MsliteModel table, read_mslite(file));
    return make_graph(table);
  }
  if (!is_tflite(file)) return read_onnx(file);
  COT_ASSIGN(const TfliteModel table, read_tflite(file));
  return make_graph(table, form_of(table) == TfliteForm::int8 ? TfliteNumbers::qdq : TfliteNumbers::real);
}

Result<model_import::Graph> graph_of(const ForeignModel& model, ByteView file, const std::string& output) {
  const auto read = [&]() -> Result<model_import::Graph> {
    if (model.mslite) return model_import::make_graph(*model.mslite);
    if (!model.tflite) return model_import::read_onnx(file);
    return model_import::make_graph(
        *model.tflite, model.is_int8 ? model_import::TfliteNumbers::qdq : model_import::TfliteNumbers::real);
  };
  COT_ASSIGN(model_import::Graph graph, read());
  if (graph.outputs.empty()) return Error(ErrorCode::malformed, "the model has no output");
  const std::string name = output.empty() ? graph.outputs[0].name : output;
  graph.outputs = {{.name = name, .element = model_import::Element::real, .shape = {}}};
  return graph;
}

}  // namespace coterie
