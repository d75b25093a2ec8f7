// Normalisation layers.
#include "model_import/convert/composer.h"
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
  // A pattern does not know the rank: of one dimension less, such a table lies along another than the channels.
  for (size_t i = 1; node.op == kGroupNorm && i < 3; ++i) {
    if (context.in(node, i).rank() + 1 != x.rank())
      return unsupported(node, "a group norm whose scale and bias are not by channel");
  }
  const Order order = image_order(x.rank());
  NormAttributes a;
  a.epsilon = node.real("epsilon", 1e-5f);
  a.groups = static_cast<uint32_t>(node.op == "InstanceNormalization" ? channels : node.integer("num_groups", 1));
  std::vector<uint32_t> inputs{context.in_order(x, order)};
  COT_ASSIGN(const TensorIndex scale, context.vector_parameter(node, 1, "weight", channels));
  COT_ASSIGN(const TensorIndex bias, context.vector_parameter(node, 2, "bias", channels));
  inputs.push_back(scale);
  inputs.push_back(bias);
  const Shape shape = context.writer.shape(inputs[0]);
  context.define(node, 0, context.writer.op(OpKind::group_norm, name_of(node), std::move(inputs), a, shape), order);
  return {};
}

// GroupNormalization, whose scale and bias opset 18 has by group; from 21 on they are by channel.
Status convert_norm_of_groups(Context& context, const Node& node) {
  if (context.graph().opset >= 21) return convert_group_norm(context, node);
  Value& x = context.in(node, 0);
  COT_ASSIGN(const int64_t channels, channels_of(node, x));
  const int64_t groups = node.integer("num_groups", 0);
  if (groups < 1 || channels % groups != 0)
    return Error(ErrorCode::malformed, node.what() + ": its groups do not divide its channels");
  const Order order = image_order(x.rank());
  Composer make(context, node);
  const TensorIndex tensor = context.in_order(x, order);
  const Shape lying = context.writer.shape(tensor);
  NormAttributes a;
  a.epsilon = node.real("epsilon", 1e-5f);
  a.groups = static_cast<uint32_t>(groups);
  const TensorIndex normalised =
      make.op(OpKind::group_norm,
              {tensor, make.table({channels}, std::vector<float>(static_cast<size_t>(channels), 1.0f)),
               make.table({channels}, std::vector<float>(static_cast<size_t>(channels), 0.0f))},
              a, lying);
  COT_ASSIGN(const TensorIndex scale, context.vector_parameter(node, 1, "weight", groups));
  COT_ASSIGN(const TensorIndex bias, context.vector_parameter(node, 2, "bias", groups));
  Shape by_group = lying;
  by_group.back() = groups;
  by_group.push_back(channels / groups);
  const auto column = [&](TensorIndex vector) { return context.writer.reshape(vector, {groups, 1}); };
  TensorIndex y = context.writer.reshape(normalised, by_group);
  y = make.binary(OpKind::add, make.binary(OpKind::mul, y, column(scale)), column(bias));
  context.define(node, 0, context.writer.reshape(y, lying), order);
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
  if (op == "GroupNormalization") return convert_norm_of_groups;
  if (op == "LayerNormalization" || op == kRmsNorm) return convert_layer_norm;
  return nullptr;
}

}  // namespace coterie::model_import
