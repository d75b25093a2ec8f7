// Elements at places that an operand says: taken, and put.
#include <algorithm>
#include <map>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

Result<int64_t> place_of(double value, int64_t size) {
  const int64_t at = whole(value);
  if (at < -size || at >= size)
    return bad_form("index " + std::to_string(at) + " of a dimension of " + std::to_string(size));
  return at < 0 ? at + size : at;
}

// x[.., indices[i], ..] at the other dimensions of i.
Result<Outputs> compute_gather_elements(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array &x = call.operand(0), &indices = call.operand(1);
  COT_ASSIGN(const size_t axis, axis_of(call.node.integer("axis", 0), x.rank()));
  if (indices.rank() != x.rank()) return bad_form("indices of another rank than the operand's");
  for (size_t k = 0; k < x.rank(); ++k) {
    if (k != axis && indices.shape[k] > x.shape[k]) return bad_form("indices that are larger than the operand");
  }
  std::vector<int64_t> places;
  for (const double value : indices.values) {
    COT_ASSIGN(const int64_t place, place_of(value, x.shape[axis]));
    places.push_back(place);
  }
  COT_ASSIGN(Array y, zeros_like(x, indices.shape));
  for_each_index(y.shape, [&](Index index, size_t i) {
    index[axis] = places[i];
    y.values[i] = x.values[offset_of(x.shape, index)];
  });
  return one(std::move(y));
}

// What joins an element that is there with one that is put there.
using Join = double (*)(double, double);

Result<Join> join_of(const Call& call) {
  static const std::map<std::string, Join> table = {
      {"none", [](double, double b) { return b; }},
      {"add", [](double a, double b) { return a + b; }},
      {"mul", [](double a, double b) { return a * b; }},
      {"max", [](double a, double b) { return std::max(a, b); }},
      {"min", [](double a, double b) { return std::min(a, b); }},
  };
  const auto found = table.find(call.node.text("reduction", "none"));
  if (found == table.end()) return unknown_form("reduction " + call.node.text("reduction", ""));
  return found->second;
}

Result<Outputs> compute_scatter_elements(const Call& call) {
  COT_TRY(needs_operands(call, 3));
  const Array &x = call.operand(0), &indices = call.operand(1), &updates = call.operand(2);
  COT_ASSIGN(const size_t axis, axis_of(call.node.integer("axis", 0), x.rank()));
  if (indices.rank() != x.rank() || updates.shape != indices.shape)
    return bad_form("indices or updates of another shape");
  for (size_t k = 0; k < x.rank(); ++k) {
    if (k != axis && indices.shape[k] > x.shape[k]) return bad_form("indices that are larger than the operand");
  }
  COT_ASSIGN(const Join join, join_of(call));
  std::vector<int64_t> places;
  for (const double value : indices.values) {
    COT_ASSIGN(const int64_t place, place_of(value, x.shape[axis]));
    places.push_back(place);
  }
  Array y = x;
  for_each_index(indices.shape, [&](Index index, size_t i) {
    index[axis] = places[i];
    double& to = y.values[offset_of(y.shape, index)];
    to = join(to, updates.values[i]);
  });
  return one(std::move(y));
}

// Where each row of indices [..., depth] points in x, whose first `batch` dimensions are the indices' own: the number
// of the slice of x.
struct Slices {
  std::vector<size_t> numbers;
  size_t size = 1;  // elements of one
  Shape rest;       // its shape
};

Result<Slices> slices_of(const Array& x, const Array& indices, size_t batch) {
  if (indices.rank() < 1 || batch >= indices.rank() || batch > x.rank()) return bad_form("indices without dimensions");
  const int64_t depth = indices.shape.back();
  if (depth < 0 || static_cast<size_t>(depth) + batch > x.rank()) return bad_form("indices deeper than the operand");
  for (size_t k = 0; k < batch; ++k) {
    if (indices.shape[k] != x.shape[k]) return bad_form("batch dimensions that differ");
  }
  Slices slices;
  slices.rest.assign(x.shape.begin() + static_cast<std::ptrdiff_t>(batch) + depth, x.shape.end());
  for (const int64_t dimension : slices.rest) slices.size *= static_cast<size_t>(dimension);
  const Shape rows(indices.shape.begin(), indices.shape.end() - 1);
  Status status;
  for_each_index(rows, [&](const Index& index, size_t row) {
    int64_t number = 0;
    for (size_t k = 0; k < batch; ++k) number = number * x.shape[k] + index[k];
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t size = x.shape[batch + static_cast<size_t>(k)];
      const auto place = place_of(indices.values[row * static_cast<size_t>(depth) + static_cast<size_t>(k)], size);
      if (!place) status = place.error();
      else number = number * size + *place;
    }
    slices.numbers.push_back(static_cast<size_t>(number));
  });
  COT_TRY(status);
  return slices;
}

Result<Outputs> compute_gather_nd(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array &x = call.operand(0), &indices = call.operand(1);
  const int64_t batch = call.node.integer("batch_dims", 0);
  if (batch < 0) return bad_form("batch_dims of " + std::to_string(batch));
  COT_ASSIGN(const Slices slices, slices_of(x, indices, static_cast<size_t>(batch)));
  Shape shape(indices.shape.begin(), indices.shape.end() - 1);
  shape.insert(shape.end(), slices.rest.begin(), slices.rest.end());
  COT_ASSIGN(Array y, zeros_like(x, shape));
  for (size_t i = 0; i < slices.numbers.size(); ++i)
    std::copy_n(x.values.data() + slices.numbers[i] * slices.size, slices.size, y.values.data() + i * slices.size);
  return one(std::move(y));
}

Result<Outputs> compute_scatter_nd(const Call& call) {
  COT_TRY(needs_operands(call, 3));
  const Array &x = call.operand(0), &indices = call.operand(1), &updates = call.operand(2);
  COT_ASSIGN(const Slices slices, slices_of(x, indices, 0));
  Shape shape(indices.shape.begin(), indices.shape.end() - 1);
  shape.insert(shape.end(), slices.rest.begin(), slices.rest.end());
  if (updates.shape != shape) return bad_form("updates of another shape than the indices'");
  COT_ASSIGN(const Join join, join_of(call));
  Array y = x;
  for (size_t i = 0; i < updates.values.size(); ++i) {
    double& to = y.values[slices.numbers[i / slices.size] * slices.size + i % slices.size];
    to = join(to, updates.values[i]);
  }
  return one(std::move(y));
}

}  // namespace

Operator scatter_operator(const std::string& op) {
  static const std::map<std::string, Operator> table = {
      {"GatherElements", compute_gather_elements},
      {"GatherND", compute_gather_nd},
      {"ScatterElements", compute_scatter_elements},
      {"Scatter", compute_scatter_elements},
      {"ScatterND", compute_scatter_nd},
  };
  return entry_of(table, op);
}

}  // namespace coterie::model_import
