// A QDQ graph as a model file that computes in int8 (ADR 113).
#pragma once

#include "base/result.h"
#include "model_import/convert/import_graph.h"
#include "model_import/graph/graph.h"

namespace coterie::model_import {

// The file has the very scales, zeros and integers of the graph, and is sealed. Errors: those of take_qdq,
// import_graph, int8_layers and make_int8_program; invalid_argument, naming the op or the value: an activation that
// must have a grid and has none; one that has a grid where this network keeps that of the layer before; weights that
// are no integers, or whose scales are not by output; an int32 bias on another grid than that of its input times its
// weights.
Result<ImportedModel> import_int8_graph(Graph graph, const ImportOptions& options);

}  // namespace coterie::model_import
