// Normalisations that are written out.
#include <algorithm>

#include "model_import/graph/fused_ops.h"
#include "model_import/patterns/match.h"

namespace coterie::model_import {
namespace {

struct MeanSquare {
  std::string x;  // whose square
  int64_t axis;   // and all behind it
  float epsilon;
};

// sqrt(mean(x^2) + epsilon)
std::optional<MeanSquare> root_mean_square(Matcher& match, const std::string& value) {
  const Node* root = match.writer(value, "Sqrt");
  const Node* sum = root == nullptr ? nullptr : match.writer(root->inputs[0], "Add");
  if (sum == nullptr || sum->inputs.size() != 2) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const std::optional<float> epsilon = match.scalar(sum->inputs[i]);
    const Node* mean = match.writer(sum->inputs[1 - i], "ReduceMean");
    if (!epsilon || mean == nullptr) continue;
    const int64_t axis = match.last_axes(*mean);
    const Node* power = match.writer(mean->inputs[0], "Pow");
    const Node* product = match.writer(mean->inputs[0], "Mul");
    if (axis == 0) return std::nullopt;
    if (power != nullptr && power->inputs.size() == 2 && match.is_scalar(power->inputs[1], 2))
      return MeanSquare{power->inputs[0], axis, *epsilon};
    if (product != nullptr && product->inputs.size() == 2 && product->inputs[0] == product->inputs[1]) {
      return MeanSquare{product->inputs[0], axis, *epsilon};
    }
  }
  return std::nullopt;
}

// What x is divided by here: Div(x, r), Mul(x, Reciprocal(r)), Mul(x, Div(1, r)).
std::vector<std::pair<std::string, std::string>> quotients(Matcher& match, const Node& node) {
  std::vector<std::pair<std::string, std::string>> found;
  if (node.inputs.size() != 2) return found;
  if (node.op == "Div") found.emplace_back(node.inputs[0], node.inputs[1]);
  if (node.op != "Mul") return found;
  for (size_t i = 0; i < 2; ++i) {
    const Node* reciprocal = match.writer(node.inputs[i], "Reciprocal");
    const Node* quotient = match.writer(node.inputs[i], "Div");
    if (reciprocal != nullptr) found.emplace_back(node.inputs[1 - i], reciprocal->inputs[0]);
    else if (quotient != nullptr && quotient->inputs.size() == 2 && match.is_scalar(quotient->inputs[0], 1)) {
      found.emplace_back(node.inputs[1 - i], quotient->inputs[1]);
    }
  }
  return found;
}

// The node after this one that multiplies with, or adds, a constant of as many dimensions as are normalised.
Node* next_with_table(Matcher& match, const Node& node, std::string_view op, size_t rank) {
  Node* next = match.only_reader(node.outputs[0], op);
  if (next == nullptr || next->inputs.size() != 2) return nullptr;
  const HostTensor* table = match.table(match.other(*next, node.outputs[0]));
  return table != nullptr && table->shape.size() == rank ? next : nullptr;
}

void become(Node& last, const char* op, std::vector<std::string> inputs, int64_t axis, float epsilon) {
  last.op = op;
  last.inputs = std::move(inputs);
  last.attributes.clear();
  last.attributes["axis"] = axis;
  last.attributes["epsilon"] = epsilon;
}

bool is_all(const HostTensor& tensor, float number) {
  return tensor.element == Element::real &&
         std::ranges::all_of(tensor.reals, [number](float v) { return v == number; });
}

}  // namespace

int64_t Matcher::last_axes(const Node& mean) const {
  std::vector<int64_t> axes = mean.integers("axes");
  if (mean.inputs.size() > 1) {
    const auto found = graph_.constants.find(mean.inputs[1]);
    if (found == graph_.constants.end()) return 0;
    for (const Integer& axis : found->second.tensor.integers) axes.push_back(axis.value);
  }
  if (axes.empty() || mean.integer("keepdims", 1) == 0) return 0;
  std::ranges::sort(axes);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != -static_cast<int64_t>(axes.size() - i)) return 0;
  }
  return axes[0];
}

bool fuse_norm(Matcher& match, Node& node) {
  for (const auto& [numerator, denominator] : quotients(match, node)) {
    const std::optional<MeanSquare> square = root_mean_square(match, denominator);
    if (!square || square->x != numerator) continue;
    const auto rank = static_cast<size_t>(-square->axis);
    Node* scale = next_with_table(match, node, "Mul", rank);
    const Node* centred = match.writer(numerator, "Sub");
    const Node* mean =
        centred == nullptr || centred->inputs.size() != 2 ? nullptr : match.writer(centred->inputs[1], "ReduceMean");
    if (mean != nullptr && mean->inputs[0] == centred->inputs[0] && match.last_axes(*mean) == square->axis) {
      const std::string x = centred->inputs[0];
      if (scale == nullptr) {
        become(node, "LayerNormalization", {x}, square->axis, square->epsilon);
        return true;
      }
      const std::string weight = match.other(*scale, node.outputs[0]);
      Node* shift = next_with_table(match, *scale, "Add", rank);
      if (shift == nullptr) become(*scale, "LayerNormalization", {x, weight}, square->axis, square->epsilon);
      else
        become(*shift, "LayerNormalization", {x, weight, match.other(*shift, scale->outputs[0])}, square->axis,
               square->epsilon);
      return true;
    }
    if (scale == nullptr) continue;
    become(*scale, kRmsNorm, {numerator, match.other(*scale, node.outputs[0])}, square->axis, square->epsilon);
    return true;
  }
  return false;
}

bool fuse_group_norm(Matcher& match, Node& node) {
  if (node.op != "InstanceNormalization" || node.inputs.size() != 3) return false;
  const Node* split = match.writer(node.inputs[0], "Reshape");
  Node* merge = match.only_reader(node.outputs[0], "Reshape");
  if (split == nullptr || merge == nullptr || split->inputs.size() != 2) return false;
  const HostTensor *ones = match.table(node.inputs[1]), *zeros = match.table(node.inputs[2]);
  if (ones == nullptr || zeros == nullptr || !is_all(*ones, 1) || !is_all(*zeros, 0)) return false;
  Node* scale = match.only_reader(merge->outputs[0], "Mul");
  if (scale == nullptr) return false;
  Node* shift = match.only_reader(scale->outputs[0], "Add");
  if (shift == nullptr) return false;
  const std::string weight = match.other(*scale, merge->outputs[0]), bias = match.other(*shift, scale->outputs[0]);
  const HostTensor *weights = match.table(weight), *biases = match.table(bias);
  // [channels, 1, ..]: one dimension alone would be the last of the image, not its channels.
  const auto by_channel = [](const HostTensor* t) {
    return t != nullptr && t->shape.size() > 1 && t->shape[0] == static_cast<int64_t>(t->reals.size());
  };
  if (!by_channel(weights) || !by_channel(biases)) return false;
  const std::string x = split->inputs[0];
  const Node* shape = match.writer(merge->inputs[1], "Shape");
  if (shape == nullptr || shape->inputs[0] != x) return false;
  const auto groups = static_cast<int64_t>(ones->reals.size());
  const float epsilon = node.real("epsilon", 1e-5f);
  shift->op = kGroupNorm;
  shift->inputs = {x, weight, bias};
  shift->attributes = {{"num_groups", groups}, {"epsilon", epsilon}};
  return true;
}

}  // namespace coterie::model_import
