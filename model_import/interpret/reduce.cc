// Reductions over axes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

// Start at `first`, take in each element, finish with how many there were.
struct Reduction {
  double first;
  double (*take)(double, double);
  double (*finish)(double, double count);
};

double as_it_is(double value, double) { return value; }

// log(exp(a) + exp(b)), which no large number breaks
double log_of_sum(double a, double b) {
  const double larger = std::max(a, b);
  return std::isinf(larger) ? larger : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

const Reduction* reduction(const std::string& op) {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static const std::map<std::string, Reduction> table = {
      {"ReduceSum", {0, [](double y, double x) { return y + x; }, as_it_is}},
      {"ReduceMean", {0, [](double y, double x) { return y + x; }, [](double y, double count) { return y / count; }}},
      {"ReduceProd", {1, [](double y, double x) { return y * x; }, as_it_is}},
      {"ReduceMax", {-kInfinity, [](double y, double x) { return x > y || std::isnan(x) ? x : y; }, as_it_is}},
      {"ReduceMin", {kInfinity, [](double y, double x) { return x < y || std::isnan(x) ? x : y; }, as_it_is}},
      {"ReduceL1", {0, [](double y, double x) { return y + std::fabs(x); }, as_it_is}},
      {"ReduceL2", {0, [](double y, double x) { return y + x * x; }, [](double y, double) { return std::sqrt(y); }}},
      {"ReduceLogSum", {0, [](double y, double x) { return y + x; }, [](double y, double) { return std::log(y); }}},
      {"ReduceLogSumExp", {-kInfinity, log_of_sum, as_it_is}},
      {"ReduceSumSquare", {0, [](double y, double x) { return y + x * x; }, as_it_is}},
  };
  const auto found = table.find(op);
  return found == table.end() ? nullptr : &found->second;
}

Result<Outputs> compute_reduction(const Call& call) {
  const Reduction& rule = *reduction(call.node.op);
  const Array& x = call.operand(0);
  // The axes became an operand in opset 13 for ReduceSum, in 18 for the others.
  COT_ASSIGN(const std::vector<int64_t> axes, axes_given(call, 1, call.node.op == "ReduceSum" ? 13 : 18));
  if (axes.empty() && call.node.integer("noop_with_empty_axes", 0) != 0) return one(x);
  std::vector<bool> is_reduced(x.rank(), axes.empty());
  for (const int64_t each : axes) {
    COT_ASSIGN(const size_t axis, axis_of(each, x.rank()));
    is_reduced[axis] = true;
  }
  Shape kept;  // with ones, as keepdims has it
  double count = 1;
  for (size_t i = 0; i < x.rank(); ++i) {
    kept.push_back(is_reduced[i] ? 1 : x.shape[i]);
    if (is_reduced[i]) count *= static_cast<double>(x.shape[i]);
  }
  COT_ASSIGN(Array y, zeros_like(x, kept));
  std::ranges::fill(y.values, rule.first);
  for_each_index(x.shape, [&](const Index& index, size_t i) {
    double& to = y.values[broadcast_offset(kept, index)];
    to = rule.take(to, x.values[i]);
  });
  for (double& value : y.values) {
    value = rule.finish(value, count);
    if (y.element != Element::real) value = std::trunc(value);
  }
  if (call.node.integer("keepdims", 1) == 0) {
    y.shape.clear();
    for (size_t i = 0; i < x.rank(); ++i) {
      if (!is_reduced[i]) y.shape.push_back(x.shape[i]);
    }
  }
  return one(std::move(y));
}

}  // namespace

Operator reduce_operator(const std::string& op) { return reduction(op) != nullptr ? compute_reduction : nullptr; }

}  // namespace coterie::model_import
