// Ops that join, cut and look up.
#include <algorithm>
#include <map>
#include <numeric>

#include "model_import/convert/convert.h"
#include "model_import/fold/fold.h"
#include "proto/codec/limits.h"

namespace coterie::model_import {
namespace {

// A part of a concatenation whose other parts have the batch where it has 1 (a class token): one copy an
// example.
TensorIndex with_batch(Context& context, const Node& node, TensorIndex part, const Shape& leader, size_t axis) {
  Shape shape = context.writer.shape(part);
  bool is_wider = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i == axis || leader[i] > 0 || shape[i] != 1) continue;
    shape[i] = leader[i];
    is_wider = true;
  }
  return is_wider ? context.writer.op(OpKind::expand, name_of(node) + ".expand", {part}, ShapeAttributes{shape}, shape,
                                      context.writer.type(part))
                  : part;
}

Status convert_concat(Context& context, const Node& node) {
  const Value* leader = nullptr;  // the first with the batch, else the first that is no constant
  bool leader_has_batch = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.has_input(i))
      return Error(ErrorCode::malformed, node.what() + ": operand " + std::to_string(i) + " is missing");
    const Value& value = context.in(node, i);
    if (value.rank() != context.in(node, 0).rank())
      return Error(ErrorCode::malformed, node.what() + ": operands of different rank");
    const bool has_batch = std::ranges::any_of(value.shape, [](int64_t d) { return d < 0; });
    if (!value.is_activation() || leader_has_batch) continue;
    if (leader == nullptr || has_batch) leader = &value;
    leader_has_batch = has_batch;
  }
  if (leader == nullptr) leader = &context.in(node, 0);
  COT_ASSIGN(const uint32_t axis, axis_in(node, node.integer("axis", 0), leader->rank()));
  const Order order = context.lying_order(*leader);
  const uint32_t at = position_of(order, axis);
  const Shape lying = permuted(leader->shape, order);
  Shape shape = lying;
  shape[at] = 0;
  std::vector<uint32_t> parts;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorIndex part = with_batch(context, node, context.in_order(context.in(node, i), order), lying, at);
    const Shape& own = context.writer.shape(part);
    for (size_t d = 0; d < own.size(); ++d) {
      if (d != at && own[d] != lying[d])
        return Error(ErrorCode::malformed,
                     node.what() + ": operand " + std::to_string(i) + " differs in another dimension than the axis");
    }
    if (own[at] < 0) return unsupported(node, "joins along the batch");
    shape[at] += own[at];
    parts.push_back(part);
  }
  const DataType type = context.writer.type(parts[0]);
  context.define(node, 0, context.writer.op(OpKind::concat, name_of(node), parts, AxisAttributes{at}, shape, type),
                 order);
  return {};
}

Status convert_split(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  COT_ASSIGN(const uint32_t axis, axis_in(node, node.integer("axis", 0), x.rank()));
  if (x.shape[axis] < 0) return unsupported(node, "splits the batch");
  const auto count = static_cast<int64_t>(node.outputs.size());
  std::vector<int64_t> sizes = node.integers("split");
  if (node.has_input(1)) {
    COT_ASSIGN(sizes, context.whole_numbers(node, 1));
  }
  if (sizes.empty()) {  // equal parts, the last one smaller
    const int64_t size = (x.shape[axis] + count - 1) / count;
    for (int64_t left = x.shape[axis]; left > 0; left -= size) sizes.push_back(std::min(size, left));
  }
  int64_t total = 0;
  for (const int64_t size : sizes) {
    if (size < 1 || size > x.shape[axis])
      return Error(ErrorCode::malformed, node.what() + ": a part of " + std::to_string(size));
    total += size;
  }
  if (total != x.shape[axis] || static_cast<int64_t>(sizes.size()) != count) {
    return Error(ErrorCode::malformed, node.what() + ": its parts do not add up to " + std::to_string(x.shape[axis]));
  }
  const Order order = context.lying_order(x);
  const TensorIndex tensor = context.in_order(x, order);
  const uint32_t at = position_of(order, axis);
  if (count == 1) {
    context.alias(node, x);
    return {};
  }
  std::vector<Shape> shapes;
  for (const int64_t size : sizes) {
    shapes.push_back(context.writer.shape(tensor));
    shapes.back()[at] = size;
  }
  if (context.writer.type(tensor) != DataType::float32) return unsupported(node, "splits integers");
  const std::vector<TensorIndex> outputs =
      context.writer.ops(OpKind::split, name_of(node), {tensor}, SplitAttributes{at, sizes}, shapes);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (node.has_output(i)) context.define(node, i, outputs[i], order);
  }
  return {};
}

// x along `axis`, as it lies.
TensorIndex sliced(Context& context, const Node& node, TensorIndex x, uint32_t at, const SliceRange& range) {
  Shape shape = context.writer.shape(x);
  if (range.start == 0 && range.step == 1 && range.count == shape[at]) return x;
  shape[at] = range.count;
  return context.writer.op(OpKind::slice, name_of(node), {x},
                           SliceAttributes{{at}, {range.start}, {range.count}, {range.step}}, shape,
                           context.writer.type(x));
}

Status convert_slice(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  COT_ASSIGN(const std::vector<int64_t> starts, context.whole_numbers(node, 1));
  COT_ASSIGN(const HostTensor* ends, context.host(node, 2));
  std::vector<int64_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has_input(3)) {
    COT_ASSIGN(axes, context.whole_numbers(node, 3));
  }
  std::vector<int64_t> steps(starts.size(), 1);
  if (node.has_input(4)) {
    COT_ASSIGN(steps, context.whole_numbers(node, 4));
  }
  if (ends->integers.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return Error(ErrorCode::malformed, node.what() + ": its lists differ in length");
  }
  const Order order = context.lying_order(x);
  TensorIndex tensor = context.in_order(x, order);
  for (size_t i = 0; i < starts.size(); ++i) {
    COT_ASSIGN(const uint32_t axis, axis_in(node, axes[i], x.rank()));
    const Integer end = ends->integers[i];
    if (x.shape[axis] < 0) {
      const bool is_all =
          starts[i] == 0 && steps[i] == 1 &&
          (end == Integer{-x.shape[axis], true} || (!end.per_batch && end.value >= limits::kModelDimensionMax - 1));
      if (!is_all) return unsupported(node, "cuts a part out of the batch");
      continue;
    }
    if (end.per_batch) return unsupported(node, "its end depends on the batch size");
    COT_ASSIGN(const SliceRange range, slice_range(node, x.shape[axis], starts[i], end.value, steps[i]));
    if (range.count < 1) return unsupported(node, "nothing is left of dimension " + std::to_string(axis));
    tensor = sliced(context, node, tensor, position_of(order, axis), range);
  }
  context.define(node, 0, tensor, order);
  return {};
}

// Rows of a table that is trained, by number.
Status convert_embedding(Context& context, const Node& node) {
  Value& indices = context.in(node, 1);
  COT_ASSIGN(const TensorIndex table, context.weight(node, 0, "weight", {0, 1}));
  const TensorIndex rows = context.plain(indices);
  if (context.writer.type(rows) != DataType::int32)
    return Error(ErrorCode::malformed, node.what() + ": indices of floats");
  Shape shape = context.writer.shape(rows);
  if (indices.rank() == 0) shape.clear();
  shape.push_back(context.in(node, 0).shape[1]);
  context.define(node, 0, context.writer.op(OpKind::embedding, name_of(node), {table, rows}, {}, shape));
  return {};
}

// Constant rows that are evenly spaced are a slice; empty: they are not.
std::optional<SliceRange> as_range(const std::vector<int64_t>& rows) {
  const int64_t step = rows.size() > 1 ? rows[1] - rows[0] : 1;
  if (step == 0) return std::nullopt;
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i] - rows[i - 1] != step) return std::nullopt;
  }
  return SliceRange{rows[0], static_cast<int64_t>(rows.size()), step};
}

Status convert_gather(Context& context, const Node& node) {
  Value &x = context.in(node, 0), &indices = context.in(node, 1);
  COT_ASSIGN(const uint32_t axis, axis_in(node, node.integer("axis", 0), x.rank()));
  if (indices.element == Element::real) return Error(ErrorCode::malformed, node.what() + ": indices of floats");
  if (axis == 0 && x.rank() == 2 && context.is_trained_operand(x)) return convert_embedding(context, node);
  if (x.shape[axis] < 0) return unsupported(node, "looks up examples of the batch");
  const Order order = context.lying_order(x);
  const TensorIndex tensor = context.in_order(x, order);
  const uint32_t at = position_of(order, axis);
  const auto more = static_cast<uint32_t>(indices.rank());
  Order to_order;  // the dimensions of the indices take the place of the axis
  Shape shape;
  for (size_t i = 0; i < order.size(); ++i) {
    for (uint32_t k = 0; i == at && k < more; ++k) {
      to_order.push_back(axis + k);
      shape.push_back(indices.shape[k]);
    }
    if (i == at) continue;
    to_order.push_back(order[i] < axis ? order[i] : order[i] + more - 1);
    shape.push_back(context.writer.shape(tensor)[i]);
  }
  if (shape.size() > limits::kModelRankMax) return unsupported(node, "more than 8 dimensions");
  if (indices.host != nullptr) {
    COT_ASSIGN(std::vector<int64_t> rows, context.whole_numbers(node, 1));
    for (int64_t& row : rows) {
      COT_ASSIGN(row, axis_in(node, row, static_cast<size_t>(x.shape[axis])));
    }
    const std::optional<SliceRange> range = as_range(rows);
    if (range && indices.rank() <= 1) {
      const TensorIndex part = sliced(context, node, tensor, at, *range);
      if (shape.empty()) return unsupported(node, "a single number is left");
      context.define(node, 0, context.writer.reshape(part, shape), to_order);
      return {};
    }
    const std::vector<int32_t> narrow(rows.begin(), rows.end());
    const TensorIndex numbers =
        context.writer.constant(name_of(node) + ".indices", indices.shape, std::span<const int32_t>(narrow));
    context.define(node, 0,
                   context.writer.op(OpKind::gather, name_of(node), {tensor, numbers}, AxisAttributes{at}, shape,
                                     context.writer.type(tensor)),
                   to_order);
    return {};
  }
  const TensorIndex numbers = context.plain(indices);
  context.define(node, 0,
                 context.writer.op(OpKind::gather, name_of(node), {tensor, numbers}, AxisAttributes{at}, shape,
                                   context.writer.type(tensor)),
                 to_order);
  return {};
}

}  // namespace

Converter data_converter(const std::string& op) {
  static const std::map<std::string, Converter> table = {
      {"Concat", convert_concat},
      {"Split", convert_split},
      {"Slice", convert_slice},
      {"Gather", convert_gather},
  };
  const auto found = table.find(op);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace coterie::model_import
