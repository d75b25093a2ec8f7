#include "device_sdk/runtime/shape_inference.h"

#include <set>
#include <string>

#include "base/text/concat.h"
#include "device_sdk/runtime/limits.h"

namespace coterie {
namespace {

Error in_op(const OpInfo& op, const Error& error) {
  return error.with_context(concat({"op ", op.name, " (", to_string(op.kind), ")"}));
}

Status check_size(const Shape& shape, uint64_t batch, const std::string& what) {
  COT_ASSIGN(const uint64_t count, element_count(shape));
  if (count / batch > limits::kTensorElementsMax) {
    return Error(ErrorCode::too_large, concat({what, " has ", count / batch, " elements, at most 2^28"}));
  }
  if (shape.size() > limits::kShapeRankMax) return does_not_fit(concat({what, " has more than 8 dimensions"}));
  return {};
}

// All kinds that are left out, at once.
Status check_kinds(const ModelGraph& graph) {
  std::set<std::string_view> missing;
  for (const OpInfo& op : graph.ops) {
    if (rule_of(op.kind) == nullptr) missing.insert(to_string(op.kind));
  }
  if (missing.empty()) return {};
  std::string names;
  for (const std::string_view name : missing) names += (names.empty() ? "" : ", ") + std::string(name);
  return Error(ErrorCode::malformed, concat({"model: this build has no ", names}));
}

Result<std::vector<TensorType>> infer_op(const ModelGraph& graph, const OpInfo& op, uint64_t batch,
                                         InferredTypes& inferred) {
  std::vector<Operand> inputs;
  for (const uint32_t index : op.inputs) {
    if (index == kNoTensor) {
      inputs.push_back({});
      continue;
    }
    inputs.push_back({true, graph.tensors[index].role, inferred.types[index].type, inferred.types[index].shape});
  }
  const OpRule& rule = *rule_of(op.kind);
  COT_ASSIGN(std::vector<TensorType> outputs, rule.infer(op, inputs));
  COT_TRY(check_output_count(op, outputs.size()));
  for (const TensorType& output : outputs) COT_TRY(check_size(output.shape, batch, "its output"));
  inferred.op_flops.push_back(rule.flops(op, inputs, outputs));
  inferred.flops += inferred.op_flops.back();
  if (!(inferred.flops <= limits::kExampleFlopsMax * static_cast<double>(batch))) {
    return Error(ErrorCode::too_large, "brings the model over 10^12 operations an example");
  }
  return outputs;
}

Result<Shape> symbolic_shape(const Shape& two, const Shape& three, const std::string& tensor) {
  if (two.size() != three.size()) return does_not_fit(concat({"the rank of ", tensor, " depends on the batch"}));
  Shape symbolic;
  for (size_t i = 0; i < two.size(); ++i) {
    if (two[i] == three[i]) symbolic.push_back(two[i]);
    else if (two[i] % 2 == 0 && two[i] / 2 * 3 == three[i]) symbolic.push_back(-two[i] / 2);
    else return does_not_fit(concat({"a dimension of ", tensor, " is no multiple of the batch"}));
  }
  return symbolic;
}

}  // namespace

Result<InferredTypes> infer_types(const ModelGraph& graph, uint64_t batch) {
  if (graph.ops.size() > limits::kRuntimeOpsMax) {
    return Error(ErrorCode::too_large, concat({"model: has ", graph.ops.size(), " ops, at most 4096"}));
  }
  COT_TRY(check_kinds(graph));
  InferredTypes inferred;
  for (const TensorInfo& tensor : graph.tensors) {
    TensorType type{tensor.type, tensor.shape};
    if (tensor.role == TensorRole::input) type.shape.insert(type.shape.begin(), static_cast<int64_t>(batch));
    if (tensor.role != TensorRole::activation) {
      COT_TRY(check_size(type.shape, tensor.role == TensorRole::input ? batch : 1, "model: tensor " + tensor.name));
    }
    inferred.types.push_back(std::move(type));
  }
  for (const OpInfo& op : graph.ops) {
    OpInfo resolved = op;
    if (auto* shape = std::get_if<ShapeAttributes>(&resolved.attributes)) shape->shape = at_batch(shape->shape, batch);
    auto outputs = infer_op(graph, resolved, batch, inferred);
    if (!outputs) return in_op(op, outputs.error());
    for (size_t i = 0; i < outputs->size(); ++i) {
      if (op.outputs[i] != kNoTensor) inferred.types[op.outputs[i]] = std::move((*outputs)[i]);
    }
  }
  return inferred;
}

Result<SymbolicTypes> infer_symbolic(const ModelGraph& graph) {
  COT_ASSIGN(const InferredTypes two, infer_types(graph, 2));
  COT_ASSIGN(const InferredTypes three, infer_types(graph, 3));
  SymbolicTypes symbolic{.types = two.types, .flops_per_example = three.flops - two.flops};
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    COT_ASSIGN(symbolic.types[i].shape,
               symbolic_shape(two.types[i].shape, three.types[i].shape, graph.tensors[i].name));
  }
  return symbolic;
}

}  // namespace coterie
