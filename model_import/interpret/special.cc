// Operators of one operand, element by element or along an axis, that models seldom have.
#include <algorithm>
#include <cmath>
#include <map>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

Result<Outputs> compute_is_nan(const Call& call) {
  Array y = call.operand(0);
  y.element = Element::boolean;
  for (double& x : y.values) x = std::isnan(x) ? 1 : 0;
  return one(std::move(y));
}

Result<Outputs> compute_is_inf(const Call& call) {
  const bool high = call.node.integer("detect_positive", 1) != 0, low = call.node.integer("detect_negative", 1) != 0;
  Array y = call.operand(0);
  y.element = Element::boolean;
  for (double& x : y.values) x = std::isinf(x) && (x > 0 ? high : low) ? 1 : 0;
  return one(std::move(y));
}

// Towards 0 by bias; what lies within lambd of it becomes 0.
Result<Outputs> compute_shrink(const Call& call) {
  const auto bias = static_cast<double>(call.node.real("bias", 0));
  const auto border = static_cast<double>(call.node.real("lambd", 0.5f));
  Array y = call.operand(0);
  for (double& x : y.values) x = x < -border ? x + bias : x > border ? x - bias : 0;
  return one(std::move(y));
}

// The values along an axis, or from an axis on, one group after the other: function(values of the group).
template <typename Function>
Array by_group(const Array& x, size_t axis, bool is_flat, Function&& function) {
  Array y = x;
  size_t width = 1, inner = 1;
  for (size_t i = axis; i < x.rank(); ++i) {
    (i == axis || is_flat ? width : inner) *= static_cast<size_t>(x.shape[i]);
  }
  if (x.values.empty()) return y;
  std::vector<double> group(width);
  for (size_t row = 0; row < x.values.size() / width; ++row) {
    const size_t first = row / inner * width * inner + row % inner;
    for (size_t i = 0; i < width; ++i) group[i] = x.values[first + i * inner];
    function(group);
    for (size_t i = 0; i < width; ++i) y.values[first + i * inner] = group[i];
  }
  return y;
}

// 1 where the first largest is, 0 elsewhere. Before opset 13 all dimensions from the axis on are one.
Result<Outputs> compute_hardmax(const Call& call) {
  const bool is_flat = call.opset < 13;
  COT_ASSIGN(const size_t axis, axis_of(call.node.integer("axis", is_flat ? 1 : -1), call.operand(0).rank()));
  return one(by_group(call.operand(0), axis, is_flat, [](std::vector<double>& group) {
    const auto largest = std::ranges::max_element(group) - group.begin();
    std::ranges::fill(group, 0.0);
    group[static_cast<size_t>(largest)] = 1;
  }));
}

Result<Outputs> compute_lp_normalization(const Call& call) {
  const int64_t p = call.node.integer("p", 2);
  if (p != 1 && p != 2) return bad_form("p of " + std::to_string(p));
  COT_ASSIGN(const size_t axis, axis_of(call.node.integer("axis", -1), call.operand(0).rank()));
  return one(by_group(call.operand(0), axis, false, [p](std::vector<double>& group) {
    double sum = 0;
    for (const double x : group) sum += p == 1 ? std::fabs(x) : x * x;
    const double norm = p == 1 ? sum : std::sqrt(sum);
    for (double& x : group) x = norm == 0 ? 0 : x / norm;
  }));
}

// (x - mean) / deviation over axes, of which the usual are batch and image.
Result<Outputs> compute_mean_variance(const Call& call) {
  const Array& x = call.operand(0);
  std::vector<int64_t> axes = call.node.integers("axes");
  if (axes.empty()) axes = {0, 2, 3};
  Shape kept = x.shape;
  for (const int64_t each : axes) {
    COT_ASSIGN(const size_t axis, axis_of(each, x.rank()));
    kept[axis] = 1;
  }
  COT_ASSIGN(Array mean, zeros_like(x, kept));
  if (mean.values.empty()) return bad_form("an operand without elements");
  Array square = mean, y = x;
  const double count = static_cast<double>(x.values.size()) / static_cast<double>(mean.values.size());
  for_each_index(x.shape, [&](const Index& index, size_t i) {
    mean.values[broadcast_offset(kept, index)] += x.values[i] / count;
    square.values[broadcast_offset(kept, index)] += x.values[i] * x.values[i] / count;
  });
  for_each_index(x.shape, [&](const Index& index, size_t i) {
    const size_t group = broadcast_offset(kept, index);
    const double average = mean.values[group];
    y.values[i] = (x.values[i] - average) / (std::sqrt(square.values[group] - average * average) + 1e-9);
  });
  return one(std::move(y));
}

// The type of the second operand. Where a float's width is not known, neither is what it would round.
Result<Outputs> compute_cast_like(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array &x = call.operand(0), &like = call.operand(1);
  Array y = x;
  if (like.element != Element::real) {
    become_whole(y, like.element, like.width);
    return one(std::move(y));
  }
  if (call.intent == Intent::specification && like.width == Width::bfloat16) return unknown_form("a cast to bfloat16");
  if (like.width != Width::float16 && like.width != Width::float32 && like.width != Width::float64)
    return unknown_form("a cast to a float type that is not known");
  become_real(y, like.width, call.intent);
  return one(std::move(y));
}

}  // namespace

Operator special_operator(const std::string& op) {
  static const std::map<std::string, Operator> table = {
      {"IsNaN", compute_is_nan},
      {"IsInf", compute_is_inf},
      {"Shrink", compute_shrink},
      {"Hardmax", compute_hardmax},
      {"LpNormalization", compute_lp_normalization},
      {"MeanVarianceNormalization", compute_mean_variance},
      {"CastLike", compute_cast_like},
  };
  return entry_of(table, op);
}

}  // namespace coterie::model_import
