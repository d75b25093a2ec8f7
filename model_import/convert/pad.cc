// Pad: with a number, with what lies mirrored at the edge, or with the edge itself.
#include <algorithm>
#include <numeric>

#include "model_import/convert/composer.h"
#include "model_import/convert/convert.h"
#include "proto/codec/limits.h"

namespace coterie::model_import {
namespace {

struct Pads {
  std::vector<int64_t> before, after;  // of the dimensions of the tensor as it lies
  bool are_zero = true;
};

Result<Pads> pads_of(Context& context, const Node& node, const Value& x, const Order& order) {
  COT_ASSIGN(const std::vector<int64_t> given, context.whole_numbers(node, 1));
  std::vector<int64_t> axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has_input(3)) {
    COT_ASSIGN(axes, context.whole_numbers(node, 3));
  }
  if (given.size() != 2 * axes.size())
    return Error(ErrorCode::malformed, node.what() + ": two numbers a dimension are needed");
  Pads pads{std::vector<int64_t>(x.rank()), std::vector<int64_t>(x.rank())};
  for (size_t i = 0; i < axes.size(); ++i) {
    COT_ASSIGN(const uint32_t axis, axis_in(node, axes[i], x.rank()));
    const int64_t before = given[i], after = given[i + axes.size()];
    if (before == 0 && after == 0) continue;
    if (x.shape[axis] < 0) return unsupported(node, "pads the batch");
    if (std::abs(before) > limits::kModelDimensionMax || std::abs(after) > limits::kModelDimensionMax ||
        x.shape[axis] + before + after < 1) {
      return Error(ErrorCode::malformed,
                   node.what() + ": pads of " + std::to_string(before) + " and " + std::to_string(after));
    }
    const uint32_t at = position_of(order, axis);
    pads.before[at] = before;
    pads.after[at] = after;
    pads.are_zero = false;
  }
  return pads;
}

Result<TensorIndex> padded_with_number(Context& context, const Node& node, TensorIndex x, const Pads& pads) {
  PadAttributes a{.before = pads.before, .after = pads.after};
  if (node.has_input(2)) {
    COT_ASSIGN(a.value, context.number(node, 2));
  }
  Shape shape = context.writer.shape(x);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (pads.before[i] != 0 || pads.after[i] != 0) shape[i] += pads.before[i] + pads.after[i];
  }
  return context.writer.op(OpKind::pad, name_of(node), {x}, a, shape, context.writer.type(x));
}

// One dimension after the other: what is mirrored in a corner is what the dimension before has mirrored.
Result<TensorIndex> padded_with_itself(Context& context, const Node& node, TensorIndex x, const Pads& pads) {
  const bool is_mirrored = node.text("mode", "") == "reflect";
  Composer make(context, node);
  for (size_t i = 0; i < pads.before.size(); ++i) {
    const int64_t before = pads.before[i], after = pads.after[i], size = make.shape(x)[i];
    if (before == 0 && after == 0) continue;
    if (before < 0 || after < 0) return unsupported(node, "a mode other than constant that cuts off");
    if (is_mirrored && std::max(before, after) >= size)
      return Error(ErrorCode::malformed, node.what() + ": mirrors more than the dimension has");
    std::vector<TensorIndex> parts;
    if (before > 0) {
      parts.push_back(is_mirrored ? make.sliced(x, i, before, before, -1)
                                  : make.expanded(make.sliced(x, i, 0, 1, 1), i, before));
    }
    parts.push_back(x);
    if (after > 0) {
      parts.push_back(is_mirrored ? make.sliced(x, i, size - 2, after, -1)
                                  : make.expanded(make.sliced(x, i, size - 1, 1, 1), i, after));
    }
    x = make.joined(parts, i);
  }
  return x;
}

Status convert_pad(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  const std::string mode = node.text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge")
    return unsupported(node, "mode " + mode + "; only constant, reflect and edge");
  const Order order = context.lying_order(x);
  const TensorIndex tensor = context.in_order(x, order);
  COT_ASSIGN(const Pads pads, pads_of(context, node, x, order));
  if (pads.are_zero) {
    context.alias(node, x);
    return {};
  }
  COT_ASSIGN(const TensorIndex y, mode == "constant" ? padded_with_number(context, node, tensor, pads)
                                                     : padded_with_itself(context, node, tensor, pads));
  context.define(node, 0, y, order);
  return {};
}

}  // namespace

Converter pad_converter(const std::string& op) { return op == "Pad" ? convert_pad : nullptr; }

}  // namespace coterie::model_import
