// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <cmath>
#include <optional>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

// -w[t] log_p[n, t, ...] where t is not to be ignored, and by `reduction` their sum, or mean by weight.
Result<Array> loss_of(const Call& call, const Array& log_p) {
  const Array& target = call.operand(1);
  Shape shape = log_p.shape;
  if (log_p.rank() < 2) return bad_form("an operand that is not [batch, classes, ...]");
  const int64_t classes = shape[1];
  shape.erase(shape.begin() + 1);
  if (target.shape != shape) return bad_form("a target of another shape than the operand's without classes");
  if (call.has(2) && call.operand(2).shape != Shape{classes}) return bad_form("not one weight a class");
  const std::string reduction = call.node.text("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none") return bad_form("reduction " + reduction);
  std::optional<int64_t> ignored;
  if (call.node.attributes.contains("ignore_index")) ignored = call.node.integer("ignore_index", 0);
  COT_ASSIGN(Array y, zeros_like(log_p, shape));
  double sum = 0, weights = 0;
  bool is_inside = true;
  for_each_index(shape, [&](Index index, size_t i) {
    const int64_t label = whole(target.values[i]);
    if (label == ignored) return;
    if (label < 0 || label >= classes) {
      is_inside = false;
      return;
    }
    const double weight = call.has(2) ? call.operand(2).values[static_cast<size_t>(label)] : 1;
    index.insert(index.begin() + 1, label);
    y.values[i] = -weight * log_p.values[offset_of(log_p.shape, index)];
    sum += y.values[i];
    weights += weight;
  });
  if (!is_inside) return bad_form("a target that is no class");
  if (reduction == "none") return y;
  y.shape = {};
  y.values = {reduction == "sum" ? sum : sum / weights};
  return y;
}

Result<Outputs> compute_likelihood(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  COT_ASSIGN(Array y, loss_of(call, call.operand(0)));
  return one(std::move(y));
}

Result<Outputs> compute_cross_entropy(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array& scores = call.operand(0);
  if (scores.rank() < 2 || scores.values.empty()) return bad_form("an operand that is not [batch, classes, ...]");
  Shape kept = scores.shape;
  kept[1] = 1;
  COT_ASSIGN(Array largest, zeros_like(scores, kept));
  for (double& value : largest.values) value = -INFINITY;
  Array sums = largest, log_p = scores;
  for (double& value : sums.values) value = 0;
  for_each_index(scores.shape, [&](const Index& index, size_t i) {
    double& most = largest.values[broadcast_offset(kept, index)];
    most = std::max(most, scores.values[i]);
  });
  for_each_index(scores.shape, [&](const Index& index, size_t i) {
    const size_t group = broadcast_offset(kept, index);
    log_p.values[i] -= largest.values[group];
    sums.values[group] += std::exp(log_p.values[i]);
  });
  for_each_index(scores.shape, [&](const Index& index, size_t i) {
    log_p.values[i] -= std::log(sums.values[broadcast_offset(kept, index)]);
  });
  COT_ASSIGN(Array y, loss_of(call, log_p));
  Outputs outputs = one(std::move(y));
  outputs.push_back(std::move(log_p));
  return outputs;
}

}  // namespace

Operator loss_operator(const std::string& op) {
  if (op == "NegativeLogLikelihoodLoss") return compute_likelihood;
  return op == "SoftmaxCrossEntropyLoss" ? compute_cross_entropy : nullptr;
}

}  // namespace coterie::model_import
