// Ops that compute element by element, with broadcasting, and softmax.
#include <cmath>
#include <numbers>

#include "model_import/export/context.h"
#include "model_import/graph/order.h"

namespace coterie::model_import {
namespace {

constexpr int64_t kInt64 = 7, kBool = 9, kFloat = 1;  // TensorProto.DataType

const char* plain_name(OpKind kind) {
  switch (kind) {
    case OpKind::relu: return "Relu";
    case OpKind::sigmoid: return "Sigmoid";
    case OpKind::tanh: return "Tanh";
    case OpKind::softplus: return "Softplus";
    case OpKind::sqrt: return "Sqrt";
    case OpKind::exp: return "Exp";
    case OpKind::log: return "Log";
    case OpKind::abs: return "Abs";
    case OpKind::neg: return "Neg";
    case OpKind::reciprocal: return "Reciprocal";
    case OpKind::erf: return "Erf";
    case OpKind::hard_swish: return "HardSwish";
    case OpKind::selu: return "Selu";
    case OpKind::identity: return "Identity";
    case OpKind::leaky_relu: return "LeakyRelu";
    case OpKind::elu: return "Elu";
    case OpKind::hard_sigmoid: return "HardSigmoid";
    default: return nullptr;
  }
}

Status export_plain(ExportContext& context, const OpInfo& op) {
  std::map<std::string, Attribute> attributes;
  if (const auto* a = std::get_if<UnaryAttributes>(&op.attributes)) {
    attributes["alpha"] = a->alpha;
    if (op.kind == OpKind::hard_sigmoid) attributes["beta"] = a->beta;
  }
  const Order order = context.lying_order(op.inputs[0]);
  context.define(op.outputs[0], context.node(plain_name(op.kind), {context.in_order(op.inputs[0], order)}, attributes),
                 order);
  return {};
}

// What ONNX has no operator for, of x.
std::string written_out(ExportContext& context, const OpInfo& op, const std::string& x) {
  const auto unary = [&](const char* name, const std::string& a) { return context.node(name, {a}); };
  const auto binary = [&](const char* name, const std::string& a, const std::string& b) {
    return context.node(name, {a, b});
  };
  const auto half_of_product = [&](const std::string& factor) {
    return binary("Mul", binary("Mul", x, binary("Add", factor, context.real(1))), context.real(0.5f));
  };
  switch (op.kind) {
    case OpKind::relu6: return context.node("Clip", {x, context.real(0), context.real(6)});
    case OpKind::clip: {
      const auto& a = std::get<UnaryAttributes>(op.attributes);
      return context.node("Clip", {x, context.real(a.alpha), context.real(a.beta)});
    }
    case OpKind::swish: return binary("Mul", x, unary("Sigmoid", x));
    case OpKind::gelu:
      return half_of_product(unary("Erf", binary("Div", x, context.real(std::numbers::sqrt2_v<float>))));
    default: {  // gelu_tanh
      const std::string cube = binary("Mul", binary("Pow", x, context.real(3)), context.real(0.044715f));
      const auto factor = static_cast<float>(std::sqrt(2 * std::numbers::inv_pi));
      return half_of_product(unary("Tanh", binary("Mul", binary("Add", x, cube), context.real(factor))));
    }
  }
}

Status export_written_out(ExportContext& context, const OpInfo& op) {
  const Order order = context.lying_order(op.inputs[0]);
  context.define(op.outputs[0], written_out(context, op, context.in_order(op.inputs[0], order)), order);
  return {};
}

const char* broadcasting_name(OpKind kind) {
  switch (kind) {
    case OpKind::add: return "Add";
    case OpKind::sub: return "Sub";
    case OpKind::mul: return "Mul";
    case OpKind::div: return "Div";
    case OpKind::pow: return "Pow";
    case OpKind::minimum: return "Min";
    case OpKind::maximum: return "Max";
    case OpKind::equal: return "Equal";
    case OpKind::less: return "Less";
    case OpKind::greater: return "Greater";
    case OpKind::where: return "Where";
    case OpKind::prelu: return "PRelu";
    default: return nullptr;
  }
}

Status export_broadcasting(ExportContext& context, const OpInfo& op) {
  const Order order = context.leading_order(op);
  std::vector<std::string> inputs;
  for (const uint32_t input : op.inputs) inputs.push_back(context.broadcastable(input, order));
  if (op.kind == OpKind::where) inputs[0] = context.node("Cast", {inputs[0]}, {{"to", kBool}});
  std::string y = context.node(broadcasting_name(op.kind), inputs);
  const bool is_comparison = op.kind == OpKind::equal || op.kind == OpKind::less || op.kind == OpKind::greater;
  if (is_comparison) y = context.node("Cast", {y}, {{"to", kInt64}});
  context.define(op.outputs[0], y, order);
  return {};
}

Status export_softmax(ExportContext& context, const OpInfo& op) {
  const Order order = context.lying_order(op.inputs[0]);
  const auto axis = static_cast<int64_t>(position_of(order, std::get<AxisAttributes>(op.attributes).axis));
  const char* name = op.kind == OpKind::softmax ? "Softmax" : "LogSoftmax";
  context.define(op.outputs[0], context.node(name, {context.in_order(op.inputs[0], order)}, {{"axis", axis}}), order);
  return {};
}

Status export_cast(ExportContext& context, const OpInfo& op) {
  const bool is_real = std::get<CastAttributes>(op.attributes).type == static_cast<uint8_t>(DataType::float32);
  const Order order = context.lying_order(op.inputs[0]);
  context.define(op.outputs[0],
                 context.node("Cast", {context.in_order(op.inputs[0], order)}, {{"to", is_real ? kFloat : kInt64}}),
                 order);
  return {};
}

// Written as inference has it: there it does nothing.
Status export_dropout(ExportContext& context, const OpInfo& op) {
  const Order order = context.lying_order(op.inputs[0]);
  const std::string rate = context.real(std::get<DropoutAttributes>(op.attributes).rate);
  context.define(op.outputs[0], context.node("Dropout", {context.in_order(op.inputs[0], order), rate}), order);
  return {};
}

}  // namespace

Exporter elementwise_exporter(OpKind kind) {
  if (plain_name(kind) != nullptr) return export_plain;
  if (broadcasting_name(kind) != nullptr) return export_broadcasting;
  switch (kind) {
    case OpKind::relu6:
    case OpKind::clip:
    case OpKind::swish:
    case OpKind::gelu:
    case OpKind::gelu_tanh: return export_written_out;
    case OpKind::softmax:
    case OpKind::log_softmax: return export_softmax;
    case OpKind::cast: return export_cast;
    case OpKind::dropout: return export_dropout;
    default: return nullptr;
  }
}

}  // namespace coterie::model_import
