// TFLite models as model files. What becomes what: model_import/tflite/make_graph.h and
// model_import/convert/import_graph.h.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "model_import/convert/import_graph.h"
#include "model_import/graph/graph.h"
#include "model_import/tflite/make_graph.h"

namespace coterie::model_import {

struct ImportedTflite {
  ImportedModel imported;
  TfliteForm form = TfliteForm::real;  // of the file
  TfliteNumbers numbers = TfliteNumbers::real;
};

// A file in floats becomes a model in float32, which can be trained. One in int8 becomes a file that computes in int8,
// with the file's grids and integers, where the house's definition has all of it (ADR 113); else, and with activations
// of int16 always, a model in float32 of the numbers that the integers stand for, with a note that says so and why.
// Errors: those of read_tflite, make_graph and import_graph.
Result<ImportedTflite> import_tflite(const TfliteModel& model, const ImportOptions& options = {});

}  // namespace coterie::model_import
