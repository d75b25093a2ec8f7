// Operators that give elements another shape or order, or tell the shape.
#include <algorithm>
#include <map>
#include <numeric>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

// The same elements in another shape.
Result<Outputs> with_shape(const Call& call, Shape shape) {
  const Array& x = call.operand(0);
  COT_ASSIGN(const Array same, zeros_like(x, shape));
  if (same.values.size() != x.values.size())
    return bad_form(std::to_string(x.values.size()) + " elements do not fill " + std::to_string(same.values.size()));
  return one(Array{x.element, std::move(shape), x.values, x.width});
}

// 0 copies a dimension (unless allowzero), one -1 is what is left.
Result<Outputs> compute_reshape(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array& x = call.operand(0);
  COT_ASSIGN(Shape shape, integers_of(call.operand(1)));
  const bool copies = call.node.integer("allowzero", 0) == 0;
  int64_t known = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && copies) {
      if (i >= x.rank()) return bad_form("copies a dimension that is not there");
      shape[i] = x.shape[i];
    }
    if (shape[i] != -1 && __builtin_mul_overflow(known, shape[i], &known)) return bad_form("too many elements");
  }
  const auto open = std::ranges::find(shape, -1);
  if (open != shape.end()) {
    if (known <= 0 || x.size() % known != 0)
      return bad_form(std::to_string(x.size()) + " elements do not divide into rows of " + std::to_string(known));
    *open = x.size() / known;
  }
  return with_shape(call, std::move(shape));
}

Result<Outputs> compute_flatten(const Call& call) {
  const Array& x = call.operand(0);
  const auto rank = static_cast<int64_t>(x.rank());
  const int64_t given = call.node.integer("axis", 1), axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis > rank) return bad_form("axis " + std::to_string(given));
  Shape shape{1, 1};
  for (int64_t i = 0; i < rank; ++i) shape[i < axis ? 0 : 1] *= x.shape[static_cast<size_t>(i)];
  return with_shape(call, std::move(shape));
}

Result<Outputs> compute_squeeze(const Call& call) {
  const Array& x = call.operand(0);
  COT_ASSIGN(const std::vector<int64_t> axes, axes_given(call, 1, 13));
  std::vector<bool> goes(x.rank(), false);
  for (const int64_t each : axes) {
    COT_ASSIGN(const size_t axis, axis_of(each, x.rank()));
    if (x.shape[axis] != 1) return bad_form("takes out a dimension of " + std::to_string(x.shape[axis]));
    goes[axis] = true;
  }
  Shape shape;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!(axes.empty() ? x.shape[i] == 1 : goes[i])) shape.push_back(x.shape[i]);
  }
  return with_shape(call, std::move(shape));
}

// The axes are those of the result.
Result<Outputs> compute_unsqueeze(const Call& call) {
  const Array& x = call.operand(0);
  COT_ASSIGN(const std::vector<int64_t> axes, axes_given(call, 1, 13));
  std::vector<bool> is_new(x.rank() + axes.size(), false);
  for (const int64_t each : axes) {
    COT_ASSIGN(const size_t axis, axis_of(each, is_new.size()));
    if (is_new[axis]) return bad_form("the same axis twice");
    is_new[axis] = true;
  }
  Shape shape;
  size_t next = 0;
  for (const bool added : is_new) shape.push_back(added ? 1 : x.shape[next++]);
  return with_shape(call, std::move(shape));
}

Result<Outputs> compute_transpose(const Call& call) {
  const Array& x = call.operand(0);
  std::vector<int64_t> order = call.node.integers("perm");
  if (order.empty()) {
    order.resize(x.rank());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  std::vector<int64_t> sorted = order;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted.size() != x.rank() || sorted[i] != static_cast<int64_t>(i)) return bad_form("perm is no permutation");
  }
  Shape shape;
  for (const int64_t axis : order) shape.push_back(x.shape[static_cast<size_t>(axis)]);
  COT_ASSIGN(Array y, zeros_like(x, shape));
  Index from(x.rank());
  for_each_index(shape, [&](const Index& index, size_t i) {
    for (size_t k = 0; k < order.size(); ++k) from[static_cast<size_t>(order[k])] = index[k];
    y.values[i] = x.values[offset_of(x.shape, from)];
  });
  return one(std::move(y));
}

Result<Outputs> compute_expand(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array& x = call.operand(0);
  COT_ASSIGN(const Shape wanted, integers_of(call.operand(1)));
  COT_ASSIGN(const Shape shape, broadcast_shape(x.shape, wanted));
  COT_ASSIGN(Array y, zeros_like(x, shape));
  for_each_index(shape,
                 [&](const Index& index, size_t i) { y.values[i] = x.values[broadcast_offset(x.shape, index)]; });
  return one(std::move(y));
}

Result<Outputs> compute_tile(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array& x = call.operand(0);
  COT_ASSIGN(const std::vector<int64_t> repeats, integers_of(call.operand(1)));
  if (repeats.size() != x.rank()) return bad_form("not one repeat a dimension");
  Shape shape = x.shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (repeats[i] < 0 || __builtin_mul_overflow(shape[i], repeats[i], &shape[i]))
      return bad_form("repeats out of range");
  }
  COT_ASSIGN(Array y, zeros_like(x, shape));
  for_each_index(shape, [&](Index index, size_t i) {
    for (size_t k = 0; k < index.size(); ++k) index[k] %= x.shape[k];
    y.values[i] = x.values[offset_of(x.shape, index)];
  });
  return one(std::move(y));
}

// start and end came with opset 15; both are cut off to what is there.
Result<Outputs> compute_shape(const Call& call) {
  const Shape& shape = call.operand(0).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const auto kept = [rank](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = kept(call.node.integer("start", 0)), end = kept(call.node.integer("end", rank));
  Array y{Element::integer, {std::max<int64_t>(0, end - start)}, {}};
  for (int64_t i = start; i < end; ++i) y.values.push_back(static_cast<double>(shape[static_cast<size_t>(i)]));
  return one(std::move(y));
}

Result<Outputs> compute_size(const Call& call) {
  return one(Array{Element::integer, {}, {static_cast<double>(call.operand(0).size())}});
}

}  // namespace

Operator shape_operator(const std::string& op) {
  static const std::map<std::string, Operator> table = {
      {"Reshape", compute_reshape},     {"Flatten", compute_flatten},     {"Squeeze", compute_squeeze},
      {"Unsqueeze", compute_unsqueeze}, {"Transpose", compute_transpose}, {"Expand", compute_expand},
      {"Tile", compute_tile},           {"Shape", compute_shape},         {"Size", compute_size},
  };
  return entry_of(table, op);
}

}  // namespace coterie::model_import
