// Which tensors of a graph need a gradient: those that are given, and what is computed from them in floating point by
// ops that have a backward.
#pragma once

#include <span>
#include <vector>

#include "device_sdk/runtime/graph_index.h"
#include "device_sdk/runtime/op_rule.h"

namespace coterie {

// `needs` says per tensor what is given, and then what needs one. `types`: per tensor.
void spread_needed_gradients(const ModelGraph& graph, const GraphIndex& index, std::span<const TensorType> types,
                             std::vector<bool>& needs);

}  // namespace coterie
