// Operators that find or make indices, and running sums: several ops of a model.
#include "model_import/convert/composer.h"
#include "model_import/convert/convert.h"

namespace coterie::model_import {
namespace {

constexpr int64_t kTableMax = 2048;  // rows of the triangle that a running sum is a product with: 16 MiB

// The first place of the largest (or smallest) along the axis, or the last one: the largest of n - i, or of i + 1,
// where x equals its maximum. Numbers up to 2^24 are exact.
Status convert_arg_extreme(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  COT_ASSIGN(const uint32_t axis, axis_in(node, node.integer("axis", 0), x.rank()));
  const int64_t count = x.shape[axis];
  if (count < 0) return unsupported(node, "looks for an example of the batch");
  const bool is_last = node.integer("select_last_index", 0) != 0, keeps = node.integer("keepdims", 1) != 0;
  const size_t at = x.rank() - 1;
  Composer make(context, node);
  const TensorIndex operand =
      make.as_type(context.in_order(x, with_last(context.lying_order(x), axis)), DataType::float32);
  const Order order = with_last(context.lying_order(x), axis);
  std::vector<float> places;
  for (int64_t i = 0; i < count; ++i) places.push_back(static_cast<float>(is_last ? i + 1 : count - i));
  const TensorIndex extreme = make.reduced(node.op == "ArgMax" ? OpKind::reduce_max : OpKind::reduce_min, operand, at);
  const TensorIndex marked = make.binary(OpKind::mul, make.is_equal(operand, extreme), make.table({count}, places));
  const TensorIndex place = make.reduced(OpKind::reduce_max, marked, at);
  const TensorIndex index =
      is_last ? make.binary(OpKind::sub, place, make.number(1))
              : make.binary(OpKind::add, make.unary(OpKind::neg, place), make.number(static_cast<float>(count)));
  TensorIndex whole = make.as_type(index, DataType::int32);
  Order left = order;
  if (!keeps) {
    if (order.size() == 1) return unsupported(node, "nothing is left of its operand");
    Shape shape = make.shape(whole);
    shape.pop_back();
    left.pop_back();
    for (uint32_t& dimension : left) dimension -= dimension > axis ? 1 : 0;
    whole = context.writer.reshape(whole, shape);
  }
  context.define(node, 0, whole, left);
  return {};
}

// 1 where the index is the place along a new dimension, from its start or from its end; then off + (on - off) of that.
Status convert_one_hot(Context& context, const Node& node) {
  if (!node.has_input(1) || !node.has_input(2))
    return Error(ErrorCode::malformed, node.what() + ": must have three operands");
  Value& indices = context.in(node, 0);
  COT_ASSIGN(const float depth, context.number(node, 1));
  COT_ASSIGN(const HostTensor* values, context.host(node, 2));
  if (!(depth >= 1 && depth <= 1 << 24) || values->stored() != 2 || values->is_uniform)
    return Error(ErrorCode::malformed, node.what() + ": needs a depth of 1 to 2^24 and two values");
  COT_ASSIGN(const uint32_t axis, axis_in(node, node.integer("axis", -1), indices.rank() + 1));
  const auto count = static_cast<int64_t>(depth);
  Composer make(context, node);
  const TensorIndex plain = make.as_type(context.plain(indices), DataType::float32);
  Shape one = indices.rank() == 0 ? Shape{} : make.shape(plain);
  one.insert(one.begin() + axis, 1);
  const TensorIndex index = make.expanded(context.writer.reshape(plain, one), axis, count);
  std::vector<float> places, from_end;
  for (int64_t i = 0; i < count; ++i) {
    places.push_back(static_cast<float>(i));
    from_end.push_back(static_cast<float>(i - count));
  }
  Shape along(one.size() - axis, 1);
  along[0] = count;
  const TensorIndex is_hot = make.binary(OpKind::add, make.is_equal(index, make.table(along, places)),
                                         make.is_equal(index, make.table(along, from_end)));
  const bool are_real = values->element == Element::real;
  const auto value = [&](size_t i) {
    return are_real ? values->reals[i] : static_cast<float>(values->integers[i].value);
  };
  const TensorIndex scaled = make.binary(OpKind::mul, is_hot, make.number(value(1) - value(0)));
  const TensorIndex y = make.binary(OpKind::add, scaled, make.number(value(0)));
  context.define(node, 0, make.as_type(y, are_real ? DataType::float32 : DataType::int32));
  return {};
}

// A product with a triangle of ones.
Status convert_cum_sum(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  if (x.element != Element::real) return unsupported(node, "of integers");
  if (!node.has_input(1)) return Error(ErrorCode::malformed, node.what() + ": must have two operands");
  COT_ASSIGN(const float given, context.number(node, 1));
  COT_ASSIGN(const uint32_t axis, axis_in(node, static_cast<int64_t>(given), x.rank()));
  const int64_t count = x.shape[axis];
  if (count < 0) return unsupported(node, "adds up the batch");
  if (count > kTableMax) return unsupported(node, "of more than " + std::to_string(kTableMax) + " elements");
  const bool is_exclusive = node.integer("exclusive", 0) != 0, is_reverse = node.integer("reverse", 0) != 0;
  std::vector<float> triangle;
  for (int64_t from = 0; from < count; ++from) {
    for (int64_t to = 0; to < count; ++to) {
      const bool is_before = is_reverse ? from > to : from < to;
      triangle.push_back(is_before || (from == to && !is_exclusive) ? 1 : 0);
    }
  }
  const Order order = with_last(context.lying_order(x), axis);
  const TensorIndex tensor = context.in_order(x, order);
  Composer make(context, node);
  const TensorIndex y =
      make.op(OpKind::matmul, {tensor, make.table({count, count}, triangle)}, MatmulAttributes{}, make.shape(tensor));
  context.define(node, 0, y, order);
  return {};
}

}  // namespace

Converter index_converter(const std::string& op) {
  if (op == "ArgMax" || op == "ArgMin") return convert_arg_extreme;
  if (op == "OneHot") return convert_one_hot;
  return op == "CumSum" ? convert_cum_sum : nullptr;
}

}  // namespace coterie::model_import
