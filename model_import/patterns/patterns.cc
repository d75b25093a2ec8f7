#include "model_import/patterns/patterns.h"

#include <algorithm>

#include "model_import/graph/fused_ops.h"
#include "model_import/patterns/match.h"

namespace coterie::model_import {

void Matcher::index() {
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    for (const std::string& output : graph_.nodes[i].outputs) writers_[output] = i;
    for (const std::string& input : graph_.nodes[i].inputs) readers_[input].push_back(i);
  }
}

Node* Matcher::writer(const std::string& value, std::string_view op) {
  const auto found = writers_.find(value);
  if (value.empty() || found == writers_.end()) return nullptr;
  Node& node = graph_.nodes[found->second];
  return node.op == op && node.outputs[0] == value && !node.inputs.empty() ? &node : nullptr;
}

Node* Matcher::only_reader(const std::string& value, std::string_view op) {
  const auto found = readers_.find(value);
  if (found == readers_.end() || found->second.size() != 1) return nullptr;
  if (std::ranges::any_of(graph_.outputs, [&](const GraphValue& output) { return output.name == value; }))
    return nullptr;
  Node& node = graph_.nodes[found->second[0]];
  return node.op == op ? &node : nullptr;
}

std::optional<float> Matcher::scalar(const std::string& value) const {
  const auto found = graph_.constants.find(value);
  if (found == graph_.constants.end()) return std::nullopt;
  const HostTensor& tensor = found->second.tensor;
  if (tensor.stored() != 1) return std::nullopt;
  return tensor.element == Element::real ? tensor.reals[0] : static_cast<float>(tensor.integers[0].value);
}

bool Matcher::is_scalar(const std::string& value, float number, float tolerance) const {
  const std::optional<float> found = scalar(value);
  return found && std::abs(*found - number) <= tolerance * std::max(1.0f, std::abs(number));
}

const HostTensor* Matcher::table(const std::string& value) const {
  const auto found = graph_.constants.find(value);
  if (found == graph_.constants.end()) return nullptr;
  const HostTensor& tensor = found->second.tensor;
  return tensor.element == Element::real && tensor.stored() > 1 ? &tensor : nullptr;
}

std::string Matcher::other(const Node& node, const std::string& value) const {
  if (node.inputs.size() != 2) return {};
  if (node.inputs[0] == value) return node.inputs[1];
  return node.inputs[1] == value ? node.inputs[0] : std::string();
}

std::optional<std::string> Matcher::beside_scalar(const Node& node, float number) const {
  if (node.inputs.size() != 2) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    if (is_scalar(node.inputs[i], number)) return node.inputs[1 - i];
  }
  return std::nullopt;
}

bool fuse_bias(Matcher& match, Node& node) {
  if (node.op != "Add" || node.inputs.size() != 2) return false;
  for (size_t i = 0; i < 2; ++i) {
    const Node* matmul = match.writer(node.inputs[i], "MatMul");
    const HostTensor* bias = match.table(node.inputs[1 - i]);
    if (matmul == nullptr || bias == nullptr || matmul->inputs.size() != 2) continue;
    const HostTensor* weight = match.table(matmul->inputs[1]);
    if (weight == nullptr || weight->shape.size() != 2 || bias->shape != Shape{weight->shape[1]}) continue;
    if (match.only_reader(node.inputs[i], "Add") == nullptr) continue;
    const std::string bias_name = node.inputs[1 - i];
    node.inputs = {matmul->inputs[0], matmul->inputs[1], bias_name};
    node.op = "MatMul";
    node.name = matmul->name;
    return true;
  }
  return false;
}

void fuse_patterns(Graph& graph) {
  // One pass an idea: what one makes (a hard-sigmoid) is part of another's (hard-swish) pattern further on.
  for (bool (*const fuse)(Matcher&, Node&) : {fuse_group_norm, fuse_norm, fuse_product, fuse_bias}) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      Matcher match(graph);
      bool is_changed = false;
      for (; i < graph.nodes.size() && !is_changed; ++i) is_changed = fuse(match, graph.nodes[i]);
      if (is_changed) --i;
    }
  }
}

}  // namespace coterie::model_import
