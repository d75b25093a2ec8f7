// Ops that change the shape of a value, or the order of its dimensions.
#include <algorithm>
#include <map>

#include "model_import/convert/convert.h"
#include "model_import/fold/fold.h"
#include "model_import/fold/reshape.h"
#include "proto/codec/limits.h"

namespace coterie::model_import {
namespace {

// The value in another shape. Its dimensions fall into groups that are merged and split among themselves; the
// groups stay where they lie, so that only what a group needs is moved.
Status define_reshaped(Context& context, const Node& node, const Shape& to) {
  Value& x = context.in(node, 0);
  COT_ASSIGN(std::vector<ReshapeGroup> groups, reshape_groups(node, x.shape, to));
  const ReshapeOrders orders = keep_lying(std::move(groups), context.lying_order(x), x.shape);
  const TensorIndex tensor = context.in_order(x, orders.from);
  context.define(node, 0, context.writer.reshape(tensor, permuted(to, orders.to)), orders.to);
  return {};
}

Status convert_reshape(Context& context, const Node& node) {
  const Value& x = context.in(node, 0);
  COT_ASSIGN(const HostTensor* target, context.host(node, 1));
  if (target->element == Element::real || target->is_uniform)
    return Error(ErrorCode::malformed, node.what() + ": its shape must be a list of integers");
  if (target->integers.size() > limits::kModelRankMax) return unsupported(node, "more than 8 dimensions");
  COT_ASSIGN(const Shape to, reshaped(node, x.shape, target->integers, context.exported_batch));
  return define_reshaped(context, node, to);
}

Status convert_flatten(Context& context, const Node& node) {
  const Value& x = context.in(node, 0);
  int64_t axis = node.integer("axis", 1);
  const auto rank = static_cast<int64_t>(x.rank());
  if (axis < -rank || axis > rank) return Error(ErrorCode::malformed, node.what() + ": its axis is out of range");
  if (axis < 0) axis += rank;
  Shape to{1, 1};
  for (int64_t i = 0; i < rank; ++i) {
    int64_t& side = to[i < axis ? 0 : 1];
    const int64_t dimension = x.shape[static_cast<size_t>(i)];
    if (side < 0 && dimension < 0) return unsupported(node, "the batch squared");
    if (__builtin_mul_overflow(side, dimension, &side))
      return Error(ErrorCode::too_large, node.what() + ": too many elements");
  }
  return define_reshaped(context, node, to);
}

Status convert_squeeze(Context& context, const Node& node) {
  const Value& x = context.in(node, 0);
  std::vector<int64_t> axes = node.integers("axes");
  if (node.has_input(1)) {
    COT_ASSIGN(axes, context.whole_numbers(node, 1));
  }
  std::vector<bool> goes(x.rank());
  for (size_t i = 0; i < x.rank(); ++i) goes[i] = axes.empty() && x.shape[i] == 1;
  for (const int64_t axis : axes) {
    COT_ASSIGN(const uint32_t at, axis_in(node, axis, x.rank()));
    if (x.shape[at] != 1)
      return Error(ErrorCode::malformed,
                   node.what() + ": squeezes dimension " + std::to_string(at) + ", which is not 1");
    goes[at] = true;
  }
  Shape to;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!goes[i]) to.push_back(x.shape[i]);
  }
  if (to.empty()) return unsupported(node, "nothing is left of its operand");
  return define_reshaped(context, node, to);
}

Status convert_unsqueeze(Context& context, const Node& node) {
  const Value& x = context.in(node, 0);
  std::vector<int64_t> axes = node.integers("axes");
  if (node.has_input(1)) {
    COT_ASSIGN(axes, context.whole_numbers(node, 1));
  }
  const size_t rank = x.rank() + axes.size();
  if (rank > limits::kModelRankMax) return unsupported(node, "more than 8 dimensions");
  std::vector<bool> is_new(rank);
  for (const int64_t axis : axes) {
    COT_ASSIGN(const uint32_t at, axis_in(node, axis, rank));
    if (is_new[at]) return Error(ErrorCode::malformed, node.what() + ": an axis is there twice");
    is_new[at] = true;
  }
  Shape to;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) to.push_back(is_new[i] ? 1 : x.shape[next++]);
  return define_reshaped(context, node, to);
}

// Only the order that is written down changes.
Status convert_transpose(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  std::vector<int64_t> permutation = node.integers("perm");
  if (permutation.empty()) {
    for (size_t i = x.rank(); i-- > 0;) permutation.push_back(static_cast<int64_t>(i));
  }
  if (permutation.size() != x.rank()) return Error(ErrorCode::malformed, node.what() + ": perm has the wrong length");
  Order order(x.rank(), static_cast<uint32_t>(x.rank()));
  const Order lying = context.lying_order(x);
  const TensorIndex tensor = context.in_order(x, lying);
  for (uint32_t i = 0; i < permutation.size(); ++i) {
    COT_ASSIGN(const uint32_t from, axis_in(node, permutation[i], x.rank()));
    uint32_t& to = order[position_of(lying, from)];
    if (to != x.rank()) return Error(ErrorCode::malformed, node.what() + ": perm has a dimension twice");
    to = i;
  }
  context.define(node, 0, tensor, order);
  return {};
}

// The value broadcast to a shape of at least its rank.
Status define_expanded(Context& context, const Node& node, const Shape& to) {
  Value& x = context.in(node, 0);
  if (to == x.shape) {
    context.alias(node, x);
    return {};
  }
  const auto missing = static_cast<uint32_t>(to.size() - x.rank());
  Order order = identity_order(missing);
  for (const uint32_t axis : context.lying_order(x)) order.push_back(axis + missing);
  Shape full(missing, 1);
  const TensorIndex tensor = context.as_it_lies(x);
  full.insert(full.end(), context.writer.shape(tensor).begin(), context.writer.shape(tensor).end());
  const TensorIndex operand = context.writer.reshape(tensor, full);
  const Shape shape = permuted(to, order);
  context.define(node, 0,
                 context.writer.op(OpKind::expand, name_of(node), {operand}, ShapeAttributes{shape}, shape,
                                   context.writer.type(operand)),
                 order);
  return {};
}

Status convert_expand(Context& context, const Node& node) {
  const Value& x = context.in(node, 0);
  COT_ASSIGN(const HostTensor* target, context.host(node, 1));
  Shape wanted;
  for (const Integer& integer : target->integers) {
    if (integer.value < 1 || integer.value > limits::kModelDimensionMax)
      return Error(ErrorCode::malformed, node.what() + ": a dimension is " + std::to_string(integer.value));
    wanted.push_back(integer.per_batch ? -integer.value : integer.value);
  }
  if (wanted.size() > limits::kModelRankMax) return unsupported(node, "more than 8 dimensions");
  COT_ASSIGN(const Shape to, broadcast(node, x.shape, wanted));
  return define_expanded(context, node, to);
}

// Tile of dimensions of size 1 broadcasts; of others it joins copies.
Status convert_tile(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  COT_ASSIGN(const HostTensor* repeats, context.host(node, 1));
  if (repeats->integers.size() != x.rank())
    return Error(ErrorCode::malformed, node.what() + ": one number a dimension is needed");
  Order order = context.lying_order(x);
  TensorIndex tensor = context.in_order(x, order);
  for (size_t i = 0; i < x.rank(); ++i) {
    const Integer count = repeats->integers[i];
    if (count == Integer{1, false}) continue;
    if (count.value < 1 || count.value > limits::kModelDimensionMax)
      return Error(ErrorCode::malformed, node.what() + ": repeats " + std::to_string(count.value) + " times");
    const uint32_t at = position_of(order, static_cast<uint32_t>(i));
    Shape shape = context.writer.shape(tensor);
    if (shape[at] == 1) {
      shape[at] = count.per_batch ? -count.value : count.value;
      tensor = context.writer.op(OpKind::expand, name_of(node), {tensor}, ShapeAttributes{shape}, shape,
                                 context.writer.type(tensor));
      continue;
    }
    if (shape[at] < 0) return unsupported(node, "repeats the batch");
    if (count.per_batch || count.value > static_cast<int64_t>(limits::kOpOperandsMax))
      return unsupported(node, "repeats a dimension too often");
    shape[at] *= count.value;
    const std::vector<uint32_t> copies(static_cast<size_t>(count.value), tensor);
    tensor = context.writer.op(OpKind::concat, name_of(node), copies, AxisAttributes{at}, shape,
                               context.writer.type(tensor));
  }
  context.define(node, 0, tensor, order);
  return {};
}

}  // namespace

Converter shape_converter(const std::string& op) {
  static const std::map<std::string, Converter> table = {
      {"Reshape", convert_reshape},     {"Flatten", convert_flatten}, {"Squeeze", convert_squeeze},
      {"Unsqueeze", convert_unsqueeze}, {"Expand", convert_expand},   {"Transpose", convert_transpose},
      {"Tile", convert_tile},
  };
  const auto found = table.find(op);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace coterie::model_import
