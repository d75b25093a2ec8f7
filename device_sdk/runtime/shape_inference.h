// The semantic half of reading a model: does every op fit its operands, and what type does each tensor have?
#pragma once

#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/op_rule.h"
#include "proto/messages/model.h"

namespace coterie {

struct InferredTypes {
  std::vector<TensorType> types;  // of every tensor, the batch included
  double flops = 0;               // of one forward pass
  std::vector<double> op_flops;   // of which each op's
};

// For so many examples. The graph has passed decode_model. Errors: malformed, too_large; they name the op.
Result<InferredTypes> infer_types(const ModelGraph& graph, uint64_t batch);

struct SymbolicTypes {
  std::vector<TensorType> types;  // a dimension of -k is k times the batch
  double flops_per_example = 0;
};

// For every batch size: infers with two, and sees which dimensions grew. Errors: as above, and malformed for a model
// that fits only some batches.
Result<SymbolicTypes> infer_symbolic(const ModelGraph& graph);

}  // namespace coterie
