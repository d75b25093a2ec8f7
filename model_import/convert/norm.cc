// Normalisation layers.
#include "model_import/convert/convert.h"

namespace coterie::model_import {
namespace {

Result<int64_t> channels_of(const Node& node, const Value& x) {
  if (x.rank() < 2 || x.shape[1] < 1) return unsupported(node, "needs [batch, channels, ...]");
  return x.shape[1];
}

Status convert_batch_norm(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  COT_ASSIGN(const int64_t channels, channels_of(node, x));
  const Order order =
      with_last(x.rank() > 2 && context.lying_order(x) == identity_order(x.rank()) ? image_order(x.rank())
                                                                                   : context.lying_order(x),
                1);
  std::vector<uint32_t> inputs{context.in_order(x, order)};
  constexpr const char* kParts[] = {"weight", "bias", "running_mean", "running_var"};
  for (size_t i = 1; i <= 4; ++i) {
    if (!node.has_input(i)) return Error(ErrorCode::malformed, node.what() + ": must have five operands");
    const TensorRole role = i <= 2 ? TensorRole::parameter : TensorRole::state;
    COT_ASSIGN(const TensorIndex vector, context.vector_parameter(node, i, kParts[i - 1], channels, role));
    inputs.push_back(vector);
  }
  NormAttributes a;
  a.epsilon = node.real("epsilon", 1e-5f);
  a.momentum = 1 - node.real("momentum", 0.9f);  // ONNX weighs the old value
  const Shape shape = context.writer.shape(inputs[0]);
  context.define(node, 0, context.writer.op(OpKind::batch_norm, name_of(node), std::move(inputs), a, shape), order);
  return {};
}

Status convert_group_norm(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  COT_ASSIGN(const int64_t channels, channels_of(node, x));
  const Order order = image_order(x.rank());
  NormAttributes a;
  a.epsilon = node.real("epsilon", 1e-5f);
  a.groups = static_cast<uint32_t>(node.op == kGroupNorm ? node.integer("num_groups", 1) : channels);
  std::vector<uint32_t> inputs{context.in_order(x, order)};
  COT_ASSIGN(const TensorIndex scale, context.vector_parameter(node, 1, "weight", channels));
  COT_ASSIGN(const TensorIndex bias, context.vector_parameter(node, 2, "bias", channels));
  inputs.push_back(scale);
  inputs.push_back(bias);
  const Shape shape = context.writer.shape(inputs[0]);
  context.define(node, 0, context.writer.op(OpKind::group_norm, name_of(node), std::move(inputs), a, shape), order);
  return {};
}

// LayerNormalization (opset 17), and RMSNorm.
Status convert_layer_norm(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  COT_ASSIGN(const uint32_t axis, axis_in(node, node.integer("axis", -1), x.rank()));
  for (size_t i = axis; i < x.rank(); ++i) {
    if (x.shape[i] < 0) return unsupported(node, "normalises over the batch");
  }
  for (size_t i = 1; i < 3; ++i) {
    if (node.has_output(i) && context.readers(node.outputs[i]) != 0)
      return unsupported(node, "its outputs Mean and InvStdDev");
  }
  const Order order = with_tail(context.lying_order(x), axis);
  const Shape normalised(x.shape.begin() + axis, x.shape.end());
  std::vector<uint32_t> inputs{context.in_order(x, order)};
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (!node.has_input(i)) {
      inputs.push_back(kNoTensor);
      continue;
    }
    if (context.in(node, i).shape != normalised)
      return unsupported(node, "its scale and bias must have the shape that is normalised");
    COT_ASSIGN(const TensorIndex vector,
               context.weight(node, i, i == 1 ? "weight" : "bias", identity_order(normalised.size())));
    inputs.push_back(vector);
  }
  NormAttributes a;
  a.epsilon = node.real("epsilon", 1e-5f);
  a.axes = static_cast<uint32_t>(x.rank() - axis);
  const OpKind kind = node.op == kRmsNorm ? OpKind::rms_norm : OpKind::layer_norm;
  const Shape shape = context.writer.shape(inputs[0]);
  context.define(node, 0, context.writer.op(kind, name_of(node), std::move(inputs), a, shape), order);
  return {};
}

}  // namespace

Converter norm_converter(const std::string& op) {
  if (op == "BatchNormalization") return convert_batch_norm;
  if (op == "InstanceNormalization" || op == kGroupNorm) return convert_group_norm;
  if (op == "LayerNormalization" || op == kRmsNorm) return convert_layer_norm;
  return nullptr;
}

}  // namespace coterie::model_import
