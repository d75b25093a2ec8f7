#include "model_import/tflite/import_tflite.h"

#include "model_import/quantised/import_int8.h"

namespace coterie::model_import {
namespace {

Result<ImportedModel> import_integers(const TfliteModel& model, const ImportOptions& options) {
  COT_ASSIGN(Graph graph, make_graph(model, TfliteNumbers::qdq));
  return import_int8_graph(std::move(graph), options);
}

}  // namespace

Result<ImportedTflite> import_tflite(const TfliteModel& model, const ImportOptions& options) {
  ImportedTflite result{.imported = {}, .form = form_of(model), .numbers = TfliteNumbers::real};
  std::string why = "activations of 16 bits";
  if (result.form == TfliteForm::int8) {
    Result<ImportedModel> imported = import_integers(model, options);
    if (imported) {
      result.imported = std::move(*imported);
      result.numbers = TfliteNumbers::qdq;
      return result;
    }
    why = imported.error().message();
  }
  COT_ASSIGN(Graph graph, make_graph(model, TfliteNumbers::real));
  COT_ASSIGN(result.imported, import_graph(std::move(graph), options));
  if (result.form != TfliteForm::real) {
    result.imported.notes.push_back(
        "the file computes in integers, the model in float32 with the numbers that they stand for: int8 has no " +
        std::string(result.form == TfliteForm::int16 ? why : "place for it: " + why));
  }
  return result;
}

}  // namespace coterie::model_import
