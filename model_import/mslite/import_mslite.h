// MindSpore Lite models as model files. What becomes what: model_import/mslite/make_graph.h and
// model_import/convert/import_graph.h.
#pragma once

#include "base/result.h"
#include "model_import/convert/import_graph.h"
#include "model_import/mslite/make_graph.h"

namespace coterie::model_import {

// A model in float32, which can be trained. Errors: those of make_graph and import_graph.
Result<ImportedModel> import_mslite(const MsliteModel& model, const ImportOptions& options = {});

}  // namespace coterie::model_import
