// Ops of several operands that broadcast.
#include <algorithm>
#include <map>

#include "model_import/convert/convert.h"
#include "model_import/fold/fold.h"

namespace coterie::model_import {
namespace {

struct Aligned {
  std::vector<uint32_t> tensors;
  Order order;  // of the result
  Shape shape;  // of the result, in that order
  bool has_trained = false;
  bool is_raw = true;  // it is arithmetic of the input and of numbers
};

double size_of(const Shape& shape) {
  double size = 1;
  for (const int64_t dimension : shape) size *= static_cast<double>(dimension < 0 ? -dimension : dimension);
  return size;
}

// The operand as [1, ..., 1, its dimensions] in the order of the result. Dimensions of size 1 in front are
// left out of constants: broadcasting puts them back.
TensorIndex aligned_tensor(Context& context, Value& value, const Order& order, bool is_trained) {
  const auto missing = static_cast<uint32_t>(order.size() - value.rank());
  Order own;  // the order of the value's own dimensions
  for (const uint32_t axis : order) {
    if (axis >= missing) own.push_back(axis - missing);
  }
  Shape full(order.size(), 1);
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] >= missing) full[i] = value.shape[order[i] - missing];
  }
  const auto first = std::ranges::find_if(full, [](int64_t d) { return d != 1; });
  const Shape short_form(first, full.end());
  if (value.host != nullptr && value.tensor == kNoTensor && !context.is_placed(value)) {
    return context.in_shape(value, own, short_form.empty() ? Shape{1} : short_form, is_trained);
  }
  const TensorIndex tensor = context.in_order(value, own);
  if (value.rank() == order.size()) return tensor;
  const bool is_identity = order == identity_order(order.size());
  return is_identity ? tensor : context.writer.reshape(tensor, full);
}

Result<Aligned> align(Context& context, const Node& node, size_t count) {
  Aligned aligned;
  Shape shape;
  const Value* leader = nullptr;
  bool has_raw_input = false;
  for (size_t i = 0; i < count; ++i) {
    if (!node.has_input(i))
      return Error(ErrorCode::malformed, node.what() + ": operand " + std::to_string(i) + " is missing");
    const Value& value = context.in(node, i);
    COT_ASSIGN(shape, broadcast(node, shape, value.shape));
    has_raw_input = has_raw_input || context.is_raw_input(value);
  }
  for (size_t i = 0; i < count; ++i) {
    const Value& value = context.in(node, i);
    if (value.rank() != shape.size() || value.tensor == kNoTensor) continue;
    if (leader == nullptr || size_of(value.shape) > size_of(leader->shape)) leader = &value;
  }
  aligned.order = leader == nullptr ? identity_order(shape.size()) : context.lying_order(*leader);
  aligned.shape = permuted(shape, aligned.order);
  for (size_t i = 0; i < count; ++i) {
    Value& value = context.in(node, i);
    bool is_trained = context.is_trained_operand(value);
    if (is_trained && has_raw_input && !context.is_said_trainable(value)) {
      is_trained = false;
      context.note_constant(value, "it stands beside the input, so it normalises the data (--trainable trains it)");
    }
    aligned.has_trained = aligned.has_trained || is_trained;
    aligned.is_raw = aligned.is_raw && (value.host != nullptr || context.is_raw_input(value));
    aligned.tensors.push_back(aligned_tensor(context, value, aligned.order, is_trained));
  }
  aligned.is_raw = aligned.is_raw && has_raw_input && !aligned.has_trained;
  return aligned;
}

struct Arithmetic {
  OpKind kind;
  bool is_comparison = false;
};

const Arithmetic* arithmetic_of(const std::string& op) {
  static const std::map<std::string, Arithmetic> table = {
      {"Add", {OpKind::add}},         {"Sub", {OpKind::sub}},
      {"Mul", {OpKind::mul}},         {"Div", {OpKind::div}},
      {"Pow", {OpKind::pow}},         {"Equal", {OpKind::equal, true}},
      {"Less", {OpKind::less, true}}, {"Greater", {OpKind::greater, true}},
  };
  const auto found = table.find(op);
  return found == table.end() ? nullptr : &found->second;
}

// The IR compares floats: integers are cast before.
TensorIndex to_float(Context& context, const Node& node, TensorIndex x) {
  if (context.writer.type(x) == DataType::float32) return x;
  return context.writer.op(OpKind::cast, name_of(node) + ".float", {x},
                           CastAttributes{static_cast<uint8_t>(DataType::float32)}, context.writer.shape(x),
                           DataType::float32);
}

Status convert_arithmetic(Context& context, const Node& node) {
  const Arithmetic& arithmetic = *arithmetic_of(node.op);
  COT_ASSIGN(Aligned aligned, align(context, node, 2));
  if (arithmetic.is_comparison) {
    for (TensorIndex& operand : aligned.tensors) operand = to_float(context, node, operand);
  }
  // From opset 12 on the exponent may be of another type than what it is the power of, which is that of the result.
  if (arithmetic.kind == OpKind::pow) {
    if (context.writer.type(aligned.tensors[0]) != DataType::float32) return unsupported(node, "of integers");
    aligned.tensors[1] = to_float(context, node, aligned.tensors[1]);
  }
  const DataType type = arithmetic.is_comparison ? DataType::int32 : context.writer.type(aligned.tensors[0]);
  const TensorIndex result =
      context.writer.op(arithmetic.kind, name_of(node), aligned.tensors, {}, aligned.shape, type);
  if (aligned.is_raw) context.mark_raw(result);
  context.define(node, 0, result, aligned.order);
  return {};
}

TensorIndex is_zero(Context& context, const Node& node, TensorIndex x) {
  const std::array<float, 1> zero{0};
  const TensorIndex constant = context.writer.constant(name_of(node) + ".zero", {1}, std::span<const float>(zero));
  return context.writer.op(OpKind::equal, name_of(node), {to_float(context, node, x), constant}, {},
                           context.writer.shape(x), DataType::int32);
}

// a <= b is not a > b; a >= b is not a < b.
Status convert_negated_comparison(Context& context, const Node& node) {
  COT_ASSIGN(Aligned aligned, align(context, node, 2));
  for (TensorIndex& operand : aligned.tensors) operand = to_float(context, node, operand);
  const OpKind kind = node.op == "LessOrEqual" ? OpKind::greater : OpKind::less;
  const TensorIndex opposite =
      context.writer.op(kind, name_of(node) + ".opposite", aligned.tensors, {}, aligned.shape, DataType::int32);
  context.define(node, 0, is_zero(context, node, opposite), aligned.order);
  return {};
}

Status convert_not(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  const Order order = context.lying_order(x);
  context.define(node, 0, is_zero(context, node, context.in_order(x, order)), order);
  return {};
}

// Truths are 0 and 1: both are where their product is above 0, one at least is where their sum is.
Status convert_truths(Context& context, const Node& node) {
  COT_ASSIGN(Aligned aligned, align(context, node, 2));
  for (TensorIndex& operand : aligned.tensors) operand = to_float(context, node, operand);
  const OpKind kind = node.op == "And" ? OpKind::mul : OpKind::add;
  const TensorIndex joined = context.writer.op(kind, name_of(node) + ".joined", aligned.tensors, {}, aligned.shape);
  const std::array<float, 1> zero{0};
  const TensorIndex constant = context.writer.constant(name_of(node) + ".zero", {1}, std::span<const float>(zero));
  context.define(
      node, 0,
      context.writer.op(OpKind::greater, name_of(node), {joined, constant}, {}, aligned.shape, DataType::int32),
      aligned.order);
  return {};
}

// Sum, Mean, Min, Max: of any number of operands.
Status convert_variadic(Context& context, const Node& node) {
  const OpKind kind = node.op == "Min" ? OpKind::minimum : node.op == "Max" ? OpKind::maximum : OpKind::add;
  COT_ASSIGN(const Aligned aligned, align(context, node, node.inputs.size()));
  TensorIndex result = aligned.tensors[0];
  for (size_t i = 1; i < aligned.tensors.size(); ++i) {
    result = context.writer.op(kind, name_of(node), {result, aligned.tensors[i]}, {}, aligned.shape,
                               context.writer.type(result));
  }
  if (node.op == "Mean") {
    const std::array<float, 1> share{1.0f / static_cast<float>(aligned.tensors.size())};
    const TensorIndex constant = context.writer.constant(name_of(node) + ".share", {1}, std::span<const float>(share));
    result = context.writer.op(OpKind::mul, name_of(node), {result, constant}, {}, aligned.shape);
  }
  if (context.writer.shape(result) != aligned.shape) result = context.writer.reshape(result, aligned.shape);
  context.define(node, 0, result, aligned.order);
  return {};
}

Status convert_where(Context& context, const Node& node) {
  COT_ASSIGN(const Aligned aligned, align(context, node, 3));
  const DataType type = context.writer.type(aligned.tensors[1]);
  context.define(node, 0, context.writer.op(OpKind::where, name_of(node), aligned.tensors, {}, aligned.shape, type),
                 aligned.order);
  return {};
}

}  // namespace

Converter binary_converter(const std::string& op) {
  if (arithmetic_of(op) != nullptr) return convert_arithmetic;
  if (op == "LessOrEqual" || op == "GreaterOrEqual") return convert_negated_comparison;
  if (op == "Not") return convert_not;
  if (op == "And" || op == "Or") return convert_truths;
  if (op == "Sum" || op == "Mean" || op == "Min" || op == "Max") return convert_variadic;
  if (op == "Where") return convert_where;
  return nullptr;
}

}  // namespace coterie::model_import
