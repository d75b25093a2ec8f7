// Which neighbouring ops are computed as one. A pure analysis: the rules ask for the result (op_build.h).
//
//   dense | conv2d -> relu      the ReLU is applied as the product is stored, if nobody else reads the product
//   batch_norm -> relu | relu6  likewise; and backward masks, so that nothing is left of the ReLU
//   relu -> max_pool2d          the pool's backward also masks for the ReLU (the maximum of a window is positive or the
//                               whole window is dead), if nobody else reads the ReLU's output
#pragma once

#include <vector>

#include "device_sdk/runtime/graph_index.h"

namespace coterie {

struct OpFusion {
  bool applies_relu = false;            // dense, conv2d, batch_norm
  bool applies_relu6 = false;           // batch_norm
  bool is_applied_by_producer = false;  // relu, relu6
  bool is_undone_by_producer = false;   // relu, relu6
  bool is_undone_by_consumer = false;   // relu
  bool undoes_relu = false;             // max_pool2d
};

std::vector<OpFusion> find_fusions(const ModelGraph& graph, const GraphIndex& index);

}  // namespace coterie
