#include "device_sdk/runtime/shape_inference.h"

#include <string>

#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/op_rule.h"

namespace coterie {
namespace {

Error in_op(const OpInfo& op, const Error& error) {
  return error.with_context("op " + op.name + " (" + std::string(to_string(op.kind)) + ")");
}

Status check_size(const Shape& shape, const std::string& what) {
  COT_ASSIGN(const uint64_t count, element_count(shape));
  if (count > limits::kTensorElementsMax) {
    return Error(ErrorCode::too_large, what + " has " + std::to_string(count) + " elements, at most 2^28");
  }
  return {};
}

Result<Shape> infer_output(const ModelGraph& graph, const OpInfo& op, const std::vector<Shape>& shapes,
                           double& flops) {
  if (op.outputs.size() != 1) return Error(ErrorCode::malformed, "must have one output");
  std::vector<Operand> inputs;
  for (const uint32_t index : op.inputs) {
    inputs.push_back({graph.tensors[index].role == TensorRole::parameter, shapes[index]});
  }
  const OpRule& rule = rule_of(op.kind);
  COT_ASSIGN(Shape output, rule.infer(op, inputs));
  COT_TRY(check_size(output, "its output"));
  flops += rule.flops(op, inputs, output);
  if (!(flops <= limits::kExampleFlopsMax)) {
    return Error(ErrorCode::too_large, "brings the model over 10^12 operations an example");
  }
  return output;
}

}  // namespace

Result<InferredShapes> infer_shapes(const ModelGraph& graph) {
  if (graph.ops.size() > limits::kRuntimeOpsMax) {
    return Error(ErrorCode::too_large, "model: has " + std::to_string(graph.ops.size()) + " ops, at most 4096");
  }
  InferredShapes inferred;
  for (const TensorInfo& tensor : graph.tensors) {
    if (tensor.role != TensorRole::activation) COT_TRY(check_size(tensor.shape, "model: tensor " + tensor.name));
    inferred.shapes.push_back(tensor.shape);
  }
  for (const OpInfo& op : graph.ops) {
    auto output = infer_output(graph, op, inferred.shapes, inferred.flops);
    if (!output) return in_op(op, output.error());
    inferred.shapes[op.outputs[0]] = std::move(*output);
  }
  return inferred;
}

}  // namespace coterie
