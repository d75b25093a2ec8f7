// A graph that is computed under somebody's eyes: each value is shown as it is made, and goes when it was last read.
#pragma once

#include <functional>

#include "base/result.h"
#include "model_import/graph/graph.h"
#include "model_import/interpret/array.h"
#include "model_import/interpret/intent.h"

namespace coterie::model_import {

// Sees value `output` of a node of the graph itself; what nodes of bodies make is not shown. An error ends the
// computation, and becomes its error.
using Observer = std::function<Status(const Node& node, size_t output, const Array& value)>;

// Computes all outputs, and nothing that they do not need. Errors: those of interpret().
Status interpret_observed(const Graph& graph, const Arrays& inputs, Intent intent, const Observer& observer);

}  // namespace coterie::model_import
