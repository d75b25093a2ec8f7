// Which neighbouring ops are computed as one. A pure analysis: the rules ask for the result (op_build.h).
//
//   layer -> batch_norm         the norm is part of the layer's weight and bias, if it is of settled values as they are
//                               (prepared.h) and nobody else reads the product (ops/folded_norm.h)
//   layer -> relu | relu6       applied as the product is stored, if nobody else reads it; also behind a norm that is
//                               part of the layer
//   batch_norm -> relu | relu6  likewise; and backward masks, so that nothing is left of the ReLU
//   relu -> max_pool2d          the pool's backward also masks for the ReLU (the maximum of a window is positive or the
//                               whole window is dead), if nobody else reads the ReLU's output
//
// The first row rounds otherwise (Optimisation::rounding); the others change no bit (Optimisation::exact).
// A layer is a dense, a conv2d or a conv_transpose2d.
#pragma once

#include <vector>

#include "device_sdk/runtime/graph_index.h"
#include "device_sdk/runtime/optimisation.h"
#include "train_kernels/shapes.h"

namespace coterie {

struct OpFusion {
  kernels::Activation activation = kernels::Activation::none;  // layer, batch_norm: the one behind is applied here
  uint32_t folded_norm = kNoOp;         // layer: the batch norm behind, if it is part of weight and bias
  bool is_applied_by_producer = false;  // batch_norm, relu, relu6
  bool is_undone_by_producer = false;   // batch_norm, relu, relu6
  bool is_undone_by_consumer = false;   // relu
  bool undoes_relu = false;             // max_pool2d
};

// Whether an op of the one kind may compute the op of the other behind it, too: the first three rows, by kinds alone.
bool is_fusable(OpKind maker, OpKind behind);

// is_settled: per tensor. `level` is not none.
std::vector<OpFusion> find_fusions(const ModelGraph& graph, const GraphIndex& index,
                                   const std::vector<bool>& is_settled, Optimisation level);

}  // namespace coterie
