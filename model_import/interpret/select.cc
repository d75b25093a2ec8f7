// Elements that their values, or a list, choose.
#include <algorithm>
#include <map>
#include <numeric>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

Result<Outputs> compute_top_k(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array& x = call.operand(0);
  COT_ASSIGN(const size_t axis, axis_of(call.node.integer("axis", -1), x.rank()));
  if (call.operand(1).size() != 1) return bad_form("k that is not one number");
  const int64_t k = whole(call.operand(1).values[0]), length = x.shape[axis];
  if (k < 0 || k > length)
    return bad_form("k of " + std::to_string(k) + " in a dimension of " + std::to_string(length));
  const bool is_largest = call.node.integer("largest", 1) != 0;
  Shape shape = x.shape;
  shape[axis] = k;
  COT_ASSIGN(Array y, zeros_like(x, shape));
  COT_ASSIGN(Array places, zeros(Element::integer, shape));
  Shape lines = x.shape;
  lines[axis] = 1;
  // Equal ones in their order; sorted or not, they come sorted.
  for_each_index(lines, [&](Index index, size_t) {
    std::vector<double> line;
    for (index[axis] = 0; index[axis] < length; ++index[axis]) line.push_back(x.values[offset_of(x.shape, index)]);
    std::vector<size_t> order(line.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order,
                             [&](size_t a, size_t b) { return is_largest ? line[a] > line[b] : line[a] < line[b]; });
    for (index[axis] = 0; index[axis] < k; ++index[axis]) {
      const size_t from = order[static_cast<size_t>(index[axis])], to = offset_of(shape, index);
      y.values[to] = line[from];
      places.values[to] = static_cast<double>(from);
    }
  });
  Outputs outputs = one(std::move(y));
  outputs.push_back(std::move(places));
  return outputs;
}

// The indices of elements other than 0, one dimension a row.
Result<Outputs> compute_non_zero(const Call& call) {
  const Array& x = call.operand(0);
  std::vector<Index> found;
  for_each_index(x.shape, [&](const Index& index, size_t i) {
    if (x.values[i] != 0) found.push_back(index);
  });
  COT_ASSIGN(Array y, zeros(Element::integer, {static_cast<int64_t>(x.rank()), static_cast<int64_t>(found.size())}));
  for (size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = static_cast<double>(found[i % found.size()][i / found.size()]);
  return one(std::move(y));
}

// Rows [..., k, ...] of an axis, one after the other.
Result<Array> rows_of(const Array& x, size_t axis, const std::vector<int64_t>& rows) {
  Shape shape = x.shape;
  shape[axis] = static_cast<int64_t>(rows.size());
  COT_ASSIGN(Array y, zeros_like(x, shape));
  for_each_index(shape, [&](Index index, size_t i) {
    index[axis] = rows[static_cast<size_t>(index[axis])];
    y.values[i] = x.values[offset_of(x.shape, index)];
  });
  return y;
}

// The operand, or without an axis its elements in one row; and the axis.
struct Laid {
  Array x;
  size_t axis = 0;
};

Result<Laid> laid_out(const Call& call) {
  Laid laid{call.operand(0)};
  if (call.node.attributes.contains("axis")) {
    COT_ASSIGN(laid.axis, axis_of(call.node.integer("axis", 0), laid.x.rank()));
  } else {
    laid.x.shape = {laid.x.size()};
  }
  return laid;
}

Result<Outputs> compute_compress(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  COT_ASSIGN(const Laid laid, laid_out(call));
  const Array& condition = call.operand(1);
  if (condition.rank() != 1 || condition.size() > laid.x.shape[laid.axis])
    return bad_form("a condition that is too long");
  std::vector<int64_t> rows;
  for (size_t i = 0; i < condition.values.size(); ++i) {
    if (condition.values[i] != 0) rows.push_back(static_cast<int64_t>(i));
  }
  COT_ASSIGN(Array y, rows_of(laid.x, laid.axis, rows));
  return one(std::move(y));
}

Result<Array> integers(const std::vector<int64_t>& numbers) {
  COT_ASSIGN(Array made, zeros(Element::integer, {static_cast<int64_t>(numbers.size())}));
  std::ranges::transform(numbers, made.values.begin(), [](int64_t number) { return static_cast<double>(number); });
  return made;
}

// What is there, once each; where it is first, where each is in it, and how often.
Result<Outputs> compute_unique(const Call& call) {
  COT_ASSIGN(const Laid laid, laid_out(call));
  std::map<std::vector<double>, size_t> numbers;
  std::vector<int64_t> first, counts;
  std::vector<size_t> inverse;
  for (int64_t row = 0; row < laid.x.shape[laid.axis]; ++row) {
    COT_ASSIGN(const Array slice, rows_of(laid.x, laid.axis, {row}));
    const auto [entry, is_new] = numbers.try_emplace(slice.values, first.size());
    if (is_new) {
      first.push_back(row);
      counts.push_back(0);
    }
    ++counts[entry->second];
    inverse.push_back(entry->second);
  }
  std::vector<size_t> order(first.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (call.node.integer("sorted", 1) != 0) {
    size_t at = 0;
    for (const auto& [values, number] : numbers) order[at++] = number;
  }
  std::vector<int64_t> firsts, places(first.size()), inverses, how_often;
  for (size_t i = 0; i < order.size(); ++i) {
    firsts.push_back(first[order[i]]);
    how_often.push_back(counts[order[i]]);
    places[order[i]] = static_cast<int64_t>(i);
  }
  for (const size_t number : inverse) inverses.push_back(places[number]);
  COT_ASSIGN(Array y, rows_of(laid.x, laid.axis, firsts));
  Outputs outputs = one(std::move(y));
  for (const auto* list : {&firsts, &inverses, &how_often}) {
    COT_ASSIGN(Array array, integers(*list));
    outputs.push_back(std::move(array));
  }
  return outputs;
}

// The first elements of each example the other way round.
Result<Outputs> compute_reverse_sequence(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array &x = call.operand(0), &lengths = call.operand(1);
  COT_ASSIGN(const size_t batch, axis_of(call.node.integer("batch_axis", 1), x.rank()));
  COT_ASSIGN(const size_t time, axis_of(call.node.integer("time_axis", 0), x.rank()));
  if (batch == time || lengths.shape != Shape{x.shape[batch]}) return bad_form("not one length an example");
  for (const double length : lengths.values) {
    if (!(length >= 0 && length <= static_cast<double>(x.shape[time]))) return bad_form("a length out of range");
  }
  Array y = x;
  for_each_index(x.shape, [&](Index index, size_t i) {
    const int64_t length = whole(lengths.values[static_cast<size_t>(index[batch])]);
    if (index[time] < length) index[time] = length - 1 - index[time];
    y.values[i] = x.values[offset_of(x.shape, index)];
  });
  return one(std::move(y));
}

}  // namespace

Operator select_operator(const std::string& op) {
  static const std::map<std::string, Operator> table = {
      {"TopK", compute_top_k},
      {"NonZero", compute_non_zero},
      {"Unique", compute_unique},
      {"Compress", compute_compress},
      {"ReverseSequence", compute_reverse_sequence},
  };
  return entry_of(table, op);
}

}  // namespace coterie::model_import
