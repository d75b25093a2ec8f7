// The tables of recurrent operators (W, R, B) that the graph makes itself. PyTorch without constant folding orders
// their gates and joins their directions there, by operators that only move elements; what comes of it is trained.
#pragma once

#include <set>
#include <string>

#include "model_import/graph/graph.h"

namespace coterie::model_import {

// Names of the values that nothing reads but recurrent operators, as a table, and such moves. The nodes are sorted.
std::set<std::string> recurrent_tables(const Graph& graph);

}  // namespace coterie::model_import
