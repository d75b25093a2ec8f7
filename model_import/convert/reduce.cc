// Reductions.
#include <algorithm>
#include <map>
#include <numeric>

#include "model_import/convert/convert.h"
#include "model_import/fold/fold.h"

namespace coterie::model_import {
namespace {

std::optional<OpKind> kind_of(const std::string& op) {
  static const std::map<std::string, OpKind> table = {
      {"ReduceSum", OpKind::reduce_sum},       {"ReduceMean", OpKind::reduce_mean}, {"ReduceMax", OpKind::reduce_max},
      {"ReduceMin", OpKind::reduce_min},       {"ReduceL2", OpKind::reduce_l2},     {"ReduceL1", OpKind::reduce_sum},
      {"ReduceSumSquare", OpKind::reduce_sum},
  };
  const auto found = table.find(op);
  if (found == table.end()) return std::nullopt;
  return found->second;
}

// Which dimensions are reduced.
Result<std::vector<bool>> reduced_axes(Context& context, const Node& node, const Value& x) {
  std::vector<int64_t> axes = node.integers("axes");
  if (node.has_input(1)) {
    COT_ASSIGN(axes, context.whole_numbers(node, 1));
  }
  std::vector<bool> is_reduced(x.rank(), axes.empty() && node.integer("noop_with_empty_axes", 0) == 0);
  for (const int64_t axis : axes) {
    COT_ASSIGN(const uint32_t at, axis_in(node, axis, x.rank()));
    is_reduced[at] = true;
  }
  for (size_t i = 0; i < x.rank(); ++i) {
    if (is_reduced[i] && x.shape[i] < 0)
      return unsupported(node, "reduces over the batch: what it computes for one example depends on the others");
  }
  return is_reduced;
}

Status convert_reduce(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  COT_ASSIGN(const std::vector<bool> is_reduced, reduced_axes(context, node, x));
  const bool keeps = node.integer("keepdims", 1) != 0;
  const Order order = context.lying_order(x);
  TensorIndex tensor = context.in_order(x, order);
  if (std::ranges::none_of(is_reduced, std::identity())) {
    context.alias(node, x);
    return {};
  }
  const Shape lying = context.writer.shape(tensor);
  if (node.op == "ReduceL1") tensor = context.writer.op(OpKind::abs, name_of(node) + ".abs", {tensor}, {}, lying);
  if (node.op == "ReduceSumSquare")
    tensor = context.writer.op(OpKind::mul, name_of(node) + ".square", {tensor, tensor}, {}, lying);
  ReduceAttributes a;
  a.keep_dimensions = keeps;
  Shape shape;
  Order left;
  for (size_t i = 0; i < order.size(); ++i) {
    const bool goes = is_reduced[order[i]];
    if (goes) a.axes.push_back(static_cast<int64_t>(i));
    if (goes && !keeps) continue;
    shape.push_back(goes ? 1 : lying[i]);
    const auto gone =
        static_cast<uint32_t>(keeps ? 0 : std::count(is_reduced.begin(), is_reduced.begin() + order[i], true));
    left.push_back(order[i] - gone);
  }
  if (shape.empty()) return unsupported(node, "nothing is left of its operand");
  TensorIndex y;
  if (node.op == "ReduceMean" && x.rank() == 4 && order == image_order(4) && a.axes == std::vector<int64_t>{1, 2}) {
    y = context.writer.op(OpKind::global_average_pool2d, name_of(node), {tensor}, {}, {lying[0], lying[3]});
    y = context.writer.reshape(y, shape);
  } else {
    y = context.writer.op(*kind_of(node.op), name_of(node), {tensor}, a, shape);
  }
  context.define(node, 0, y, left);
  return {};
}

}  // namespace

Converter reduce_converter(const std::string& op) { return kind_of(op) ? convert_reduce : nullptr; }

}  // namespace coterie::model_import
