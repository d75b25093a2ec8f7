// The semantic half of reading a model: does every op fit its operands, and what shape does each tensor have?
#pragma once

#include <vector>

#include "base/result.h"
#include "proto/messages/model.h"

namespace coterie {

struct InferredShapes {
  std::vector<Shape> shapes;  // of every tensor, without the batch dimension
  double flops = 0;           // of one example's forward pass
};

// The graph has passed decode_model. Errors: malformed, too_large; they name the op.
Result<InferredShapes> infer_shapes(const ModelGraph& graph);

}  // namespace coterie
