// An ONNX graph, computed as its specification says: slow, in double precision, and by code of its own.
//
// What a model file computes is compared with it (tools/model/conversion_check.h). So it shares no line with the
// converter, which folds, fuses, reorders and renames, nor with the kernels: it reads the graph as the reader of the
// format handed it over, and does one node after the other (ADR 91).
//
// Floats of every width are doubles, rounded as the intent says (intent.h says what nodes do that train, too); integers
// of 8 bits and int32 wrap around as they do in a program, others are held as int64 (ADR 163).
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "model_import/graph/graph.h"
#include "model_import/interpret/array.h"
#include "model_import/interpret/intent.h"

namespace coterie::model_import {

// What a graph and its bodies compute at most: a unit for each node, kWorkOfRun for each run of a body, and one for
// each 4,096 elements that a node makes, that a constant has which it reads, or that a run is given. What does not end,
// ends here.
inline constexpr uint64_t kWorkMax = 1u << 20;
inline constexpr uint64_t kWorkOfRun = 8;  // its maps are made anew

// The wanted values for these inputs; nodes that they do not need are not computed. `graph` is sorted. Errors name
// the node: invalid_argument (an operator, or a form of one, that is not known here; a wanted value that is not in the
// graph), malformed (shapes that do not fit), too_large (a tensor, or more work than kWorkMax).
Result<Arrays> interpret(const Graph& graph, const Arrays& inputs, const std::set<std::string>& wanted,
                         Intent intent = Intent::prediction);

bool is_interpreted(const std::string& op);  // whether the interpreter knows the operator

}  // namespace coterie::model_import
