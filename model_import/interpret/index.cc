// Places along an axis, and running sums.
#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

// The elements along one axis, `inner` apart; line k begins at first_of(k).
struct Lines {
  size_t count = 1, inner = 1;
  size_t first_of(size_t line) const { return line / inner * count * inner + line % inner; }
};

Lines lines_of(const Array& x, size_t axis) {
  Lines lines{.count = static_cast<size_t>(x.shape[axis])};
  for (size_t i = axis + 1; i < x.rank(); ++i) lines.inner *= static_cast<size_t>(x.shape[i]);
  return lines;
}

// The first place of the largest (ArgMax) or smallest element, or with select_last_index the last one.
Result<Outputs> compute_arg_extreme(const Call& call) {
  const Array& x = call.operand(0);
  COT_ASSIGN(const size_t axis, axis_of(call.node.integer("axis", 0), x.rank()));
  if (x.values.empty()) return bad_form("an operand without elements");
  const bool is_max = call.node.op == "ArgMax", takes_last = call.node.integer("select_last_index", 0) != 0;
  Shape kept = x.shape;
  kept[axis] = 1;
  COT_ASSIGN(Array y, zeros(Element::integer, kept));
  const Lines lines = lines_of(x, axis);
  for (size_t line = 0; line < y.values.size(); ++line) {
    size_t found = 0;
    const auto at = [&](size_t i) { return x.values[lines.first_of(line) + i * lines.inner]; };
    for (size_t i = 1; i < lines.count; ++i) {
      const bool is_better = is_max ? at(i) > at(found) : at(i) < at(found);
      if (is_better || (takes_last && at(i) == at(found))) found = i;
    }
    y.values[line] = static_cast<double>(found);
  }
  if (call.node.integer("keepdims", 1) == 0) y.shape.erase(y.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return one(std::move(y));
}

// A new dimension of `depth`, in which the index has the second value and all others have the first. An index may
// count from the end; one outside has no place.
Result<Outputs> compute_one_hot(const Call& call) {
  COT_TRY(needs_operands(call, 3));
  const Array &indices = call.operand(0), &values = call.operand(2);
  if (call.operand(1).size() != 1 || values.size() != 2) return bad_form("not one depth and two values");
  COT_ASSIGN(const size_t axis, axis_of(call.node.integer("axis", -1), indices.rank() + 1));
  const int64_t depth = whole(call.operand(1).values[0]);
  Shape shape = indices.shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  COT_ASSIGN(Array y, zeros_like(values, shape));
  for_each_index(shape, [&](Index index, size_t i) {
    const int64_t place = index[axis];
    index.erase(index.begin() + static_cast<std::ptrdiff_t>(axis));
    const int64_t given = whole(indices.values[offset_of(indices.shape, index)]);
    y.values[i] = values.values[place == (given < 0 ? given + depth : given) ? 1 : 0];
  });
  return one(std::move(y));
}

// exclusive: without the element itself; reverse: from the end.
Result<Outputs> compute_cum_sum(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array& x = call.operand(0);
  if (call.operand(1).size() != 1) return bad_form("an axis that is not one number");
  COT_ASSIGN(const size_t axis, axis_of(whole(call.operand(1).values[0]), x.rank()));
  const bool is_exclusive = call.node.integer("exclusive", 0) != 0, is_reverse = call.node.integer("reverse", 0) != 0;
  Array y = x;
  if (x.values.empty()) return one(std::move(y));
  const Lines lines = lines_of(x, axis);
  for (size_t line = 0; line < x.values.size() / lines.count; ++line) {
    double sum = 0;
    for (size_t i = 0; i < lines.count; ++i) {
      const size_t at = lines.first_of(line) + (is_reverse ? lines.count - 1 - i : i) * lines.inner;
      y.values[at] = is_exclusive ? sum : sum + x.values[at];
      sum += x.values[at];
    }
  }
  return one(std::move(y));
}

}  // namespace

Operator index_operator(const std::string& op) {
  if (op == "ArgMax" || op == "ArgMin") return compute_arg_extreme;
  if (op == "OneHot") return compute_one_hot;
  return op == "CumSum" ? compute_cum_sum : nullptr;
}

}  // namespace coterie::model_import
