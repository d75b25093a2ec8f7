#include "model_import/mslite/import_mslite.h"

namespace coterie::model_import {

Result<ImportedModel> import_mslite(const MsliteModel& model, const ImportOptions& options) {
  COT_ASSIGN(Graph graph, make_graph(model));
  return import_graph(std::move(graph), options);
}

}  // namespace coterie::model_import
