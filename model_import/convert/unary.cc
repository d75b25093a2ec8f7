// Ops of one operand that compute element by element, softmax, and those that do nothing.
#include <array>
#include <limits>
#include <map>

#include "model_import/convert/convert.h"

namespace coterie::model_import {
namespace {

struct Plain {
  OpKind kind;
  const char* first = nullptr;  // the ONNX attributes that are alpha and beta
  float first_absent = 0;
  const char* second = nullptr;
  float second_absent = 0;
};

const Plain* plain_of(const std::string& op) {
  static const std::map<std::string, Plain> table = {
      {"Relu", {OpKind::relu}},
      {"Sigmoid", {OpKind::sigmoid}},
      {"Tanh", {OpKind::tanh}},
      {"Softplus", {OpKind::softplus}},
      {"Sqrt", {OpKind::sqrt}},
      {"Exp", {OpKind::exp}},
      {"Log", {OpKind::log}},
      {"Abs", {OpKind::abs}},
      {"Neg", {OpKind::neg}},
      {"Reciprocal", {OpKind::reciprocal}},
      {"Erf", {OpKind::erf}},
      {"HardSwish", {OpKind::hard_swish}},
      {kSwish, {OpKind::swish}},
      {"LeakyRelu", {OpKind::leaky_relu, "alpha", 0.01f}},
      {"Elu", {OpKind::elu, "alpha", 1.0f}},
      {"HardSigmoid", {OpKind::hard_sigmoid, "alpha", 0.2f, "beta", 0.5f}},
  };
  const auto found = table.find(op);
  return found == table.end() ? nullptr : &found->second;
}

Status emit(Context& context, const Node& node, OpKind kind, OpAttributes attributes) {
  Value& x = context.in(node, 0);
  const Order order = context.lying_order(x);
  const TensorIndex tensor = context.in_order(x, order);
  context.define(node, 0,
                 context.writer.op(kind, name_of(node), {tensor}, std::move(attributes), context.writer.shape(tensor),
                                   context.writer.type(tensor)),
                 order);
  return {};
}

Status convert_plain(Context& context, const Node& node) {
  const Plain& plain = *plain_of(node.op);
  if (plain.first == nullptr) return emit(context, node, plain.kind, default_attributes(plain.kind));
  UnaryAttributes a;
  a.alpha = node.real(plain.first, plain.first_absent);
  if (plain.second != nullptr) a.beta = node.real(plain.second, plain.second_absent);
  return emit(context, node, plain.kind, a);
}

Status convert_selu(Context& context, const Node& node) {
  // The op has the constants of the paper (Klambauer et al. 2017), which are ONNX's defaults.
  if (std::abs(node.real("alpha", 1.67326f) - 1.67326f) > 1e-4f ||
      std::abs(node.real("gamma", 1.0507f) - 1.0507f) > 1e-4f) {
    return unsupported(node, "other alpha or gamma than SELU's");
  }
  return emit(context, node, OpKind::selu, default_attributes(OpKind::selu));
}

Status convert_gelu(Context& context, const Node& node) {
  return emit(context, node, node.text("approximate", "none") == "tanh" ? OpKind::gelu_tanh : OpKind::gelu, {});
}

Status convert_clip(Context& context, const Node& node) {
  UnaryAttributes a{std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()};
  if (node.has_input(1)) {
    COT_ASSIGN(a.alpha, context.number(node, 1));
  }
  if (node.has_input(2)) {
    COT_ASSIGN(a.beta, context.number(node, 2));
  }
  if (!(a.alpha <= a.beta)) return Error(ErrorCode::malformed, node.what() + ": its minimum is above its maximum");
  if (a.alpha == 0 && a.beta == 6) return emit(context, node, OpKind::relu6, {});
  if (a.alpha == 0 && !(a.beta < std::numeric_limits<float>::max())) return emit(context, node, OpKind::relu, {});
  return emit(context, node, OpKind::clip, a);
}

Status convert_prelu(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  const Value& slope = context.in(node, 1);
  COT_ASSIGN(const HostTensor* tensor, context.host(node, 1));
  const auto count = static_cast<int64_t>(tensor->reals.size());
  const size_t channel_axis = 1;
  const bool is_by_channel = count > 1;
  if (is_by_channel) {
    // The slope broadcasts to the input as NumPy has it: only one dimension, the channels, may differ from 1.
    const size_t offset = x.rank() - std::min(slope.rank(), x.rank());
    if (x.rank() < 2 || x.shape[channel_axis] != count || offset > channel_axis ||
        slope.shape[channel_axis - offset] != count) {
      return unsupported(node, "its slope must be one number, or one a channel");
    }
  }
  const Order order = is_by_channel ? with_last(context.lying_order(x), channel_axis) : context.lying_order(x);
  const TensorIndex operand = context.in_order(x, order);
  COT_ASSIGN(const TensorIndex slopes, context.vector_parameter(node, 1, "weight", count));
  context.define(node, 0,
                 context.writer.op(OpKind::prelu, name_of(node), {operand, slopes}, {}, context.writer.shape(operand)),
                 order);
  return {};
}

Status convert_identity(Context& context, const Node& node) {
  context.alias(node, context.in(node, 0));
  return {};
}

// In inference, which is what PyTorch exports unless told otherwise, it does nothing.
Status convert_dropout(Context& context, const Node& node) {
  if (node.has_output(1) && context.readers(node.outputs[1]) != 0) return unsupported(node, "its output of the mask");
  bool is_training = false;
  if (node.has_input(2)) {
    COT_ASSIGN(const float flag, context.number(node, 2));
    is_training = flag != 0;
  }
  if (!is_training) return convert_identity(context, node);
  DropoutAttributes a{0.5f};
  if (node.has_input(1)) {
    COT_ASSIGN(a.rate, context.number(node, 1));
  }
  if (!(a.rate >= 0 && a.rate < 1)) return Error(ErrorCode::malformed, node.what() + ": its ratio must be in [0, 1)");
  return emit(context, node, OpKind::dropout, a);
}

// x != 0, of floats or of integers: booleans are 0 and 1.
Status convert_to_boolean(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  const Order order = context.lying_order(x);
  TensorIndex tensor = context.in_order(x, order);
  const Shape shape = context.writer.shape(tensor);
  const std::array<float, 1> zero{0};
  const TensorIndex constant = context.writer.constant(name_of(node) + ".zero", {1}, std::span<const float>(zero));
  for (const char* part : {".is_zero", ""}) {
    if (context.writer.type(tensor) != DataType::float32) {
      tensor = context.writer.op(OpKind::cast, name_of(node) + ".float", {tensor},
                                 CastAttributes{static_cast<uint8_t>(DataType::float32)}, shape, DataType::float32);
    }
    tensor = context.writer.op(OpKind::equal, name_of(node) + part, {tensor, constant}, {}, shape, DataType::int32);
  }
  context.define(node, 0, tensor, order).element = Element::boolean;
  return {};
}

Status convert_cast(Context& context, const Node& node) {
  constexpr int64_t kFloat = 1, kBool = 9, kFloat16 = 10, kDouble = 11,
                    kBfloat16 = 16;  // TensorProto.DataType
  Value& x = context.in(node, 0);
  const int64_t to = node.integer("to", kFloat);
  const bool to_real = to == kFloat || to == kFloat16 || to == kDouble || to == kBfloat16;
  if (to == kBool && x.element != Element::boolean) return convert_to_boolean(context, node);
  if (to_real == (x.element == Element::real)) return convert_identity(context, node);
  const Order order = context.lying_order(x);
  const TensorIndex tensor = context.in_order(x, order);
  const DataType type = to_real ? DataType::float32 : DataType::int32;
  context.define(node, 0,
                 context.writer.op(OpKind::cast, name_of(node), {tensor}, CastAttributes{static_cast<uint8_t>(type)},
                                   context.writer.shape(tensor), type),
                 order);
  return {};
}

Status convert_softmax(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  COT_ASSIGN(const uint32_t axis, axis_in(node, node.integer("axis", context.graph().opset < 13 ? 1 : -1), x.rank()));
  const size_t end = context.graph().opset < 13 ? x.rank() : axis + 1;  // before, over all dimensions from the axis on
  int64_t width = 1;
  for (size_t i = axis; i < end; ++i) {
    if (x.shape[i] < 0) return unsupported(node, "normalises over the batch");
    width *= x.shape[i];
  }
  const OpKind kind = node.op == "Softmax" ? OpKind::softmax : OpKind::log_softmax;
  if (width != x.shape[axis]) {
    Shape flat(x.shape.begin(), x.shape.begin() + axis);
    flat.push_back(width);
    const TensorIndex rows = context.writer.reshape(context.plain(x), flat);
    const TensorIndex y = context.writer.op(kind, name_of(node), {rows}, AxisAttributes{axis}, flat);
    context.define(node, 0, context.writer.reshape(y, x.shape));
    return {};
  }
  const Order order = with_last(context.lying_order(x), axis);
  const TensorIndex tensor = context.in_order(x, order);
  const AxisAttributes a{static_cast<uint32_t>(x.rank() - 1)};
  context.define(node, 0, context.writer.op(kind, name_of(node), {tensor}, a, context.writer.shape(tensor)), order);
  return {};
}

}  // namespace

Converter unary_converter(const std::string& op) {
  static const std::map<std::string, Converter> table = {
      {"Selu", convert_selu},          {kGelu, convert_gelu},    {"Gelu", convert_gelu},
      {"Clip", convert_clip},          {"PRelu", convert_prelu}, {"Identity", convert_identity},
      {"Dropout", convert_dropout},    {"Cast", convert_cast},   {"Softmax", convert_softmax},
      {"LogSoftmax", convert_softmax},
  };
  if (plain_of(op) != nullptr) return convert_plain;
  const auto found = table.find(op);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace coterie::model_import
