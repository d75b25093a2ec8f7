// Whether a batch norm can become part of the layer in front of it, as what computes in int8 has it (ADR 113).
#pragma once

#include <cstdint>

#include "device_sdk/runtime/graph_index.h"
#include "proto/messages/model.h"

namespace coterie {

// The dense layer or convolution that can take the norm over, an index into the graph's ops: nobody else reads what it
// writes, its weight, or the bias that it would get (its own, else the norm's). kNoOp: there is none, or `norm` is no
// batch norm.
uint32_t layer_of_norm(const ModelGraph& graph, const GraphIndex& index, const OpInfo& norm);

}  // namespace coterie
