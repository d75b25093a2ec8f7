// Computation on tensors that are known when the model is converted: shapes above all, which PyTorch computes
// inside the graph. A dimension may be a multiple of the batch there, too.
#pragma once

#include <optional>
#include <vector>

#include "model_import/graph/graph.h"

namespace coterie::model_import {

inline constexpr uint64_t kFoldElementsMax = 1u << 26;  // of a result: a table of that size is an initializer

// The outputs of the node for these operands (null: absent), as the ONNX operator of that name has it. Empty:
// the op is not one of those that are computed here. Errors: malformed (shapes that do not fit), too_large,
// invalid_argument (a result that depends on the batch in a way that is no multiple of it).
Result<std::optional<HostTensor>> fold(const Node& node, const std::vector<const HostTensor*>& operands, int64_t opset);

// Shape of a value: its dimensions from start to end.
HostTensor shape_as_tensor(const Node& node, const Shape& shape);

// --- for the parts
using Operands = std::vector<const HostTensor*>;
using FoldRule = Result<HostTensor> (*)(const Node&, const Operands&, int64_t opset);
FoldRule index_rule(const std::string& op);       // moves elements; null: none
FoldRule arithmetic_rule(const std::string& op);  // computes with them; null: none

// Size after broadcasting, as in NumPy. Errors: malformed.
Result<Shape> broadcast(const Node& node, const Shape& a, const Shape& b);
// For each element of a tensor of shape `to`, the element of one of shape `from` that broadcasts to it.
std::vector<uint64_t> broadcast_indices(const Shape& from, const Shape& to);
HostTensor take(const HostTensor& tensor, Shape shape, const std::vector<uint64_t>& indices);
Result<uint64_t> count_elements(const Node& node, const Shape& shape);  // at most kFoldElementsMax
Result<std::vector<int64_t>> plain_integers(const Node& node, const HostTensor& tensor);
// `axes` from operand i or the attribute; empty where neither is there.
Result<std::vector<int64_t>> axes_of(const Node& node, const Operands& operands, size_t i);
// What Reshape makes of a shape of known numbers: 0 copies, one -1 is what is left. Integers may be per
// batch.
Result<std::vector<Integer>> reshape_target(const Node& node, const Shape& from, const std::vector<Integer>& target);

// Positions start, start + step, ... of a dimension, as ONNX Slice counts: negative from the end, beyond it
// cut off.
struct SliceRange {
  int64_t start, count, step;
};
Result<SliceRange> slice_range(const Node& node, int64_t size, int64_t start, int64_t end, int64_t step);

}  // namespace coterie::model_import
