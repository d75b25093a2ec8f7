#include "model_import/interpret/interpret.h"

#include <algorithm>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

Operator operator_of(const std::string& op) {
  for (const auto family : {unary_operator,       binary_operator,      reduce_operator,   matrix_operator,
                            convolution_operator, pool_operator,        resize_operator,   norm_operator,
                            shape_operator,       data_operator,        fill_operator,     recurrent_operator,
                            image_block_operator, index_operator,       quantise_operator, integer_product_operator,
                            special_operator,     bits_operator,        scatter_operator,  select_operator,
                            detection_operator,   grid_sample_operator, einsum_operator,   signal_operator,
                            loss_operator,        unpool_operator,      n_gram_operator}) {
    if (const Operator found = family(op)) return found;
  }
  return nullptr;
}

// The nodes that the wanted values need, in the graph's order.
std::vector<const Node*> needed_nodes(const Graph& graph, const std::set<std::string>& wanted) {
  std::set<std::string> needed = wanted;
  std::vector<const Node*> nodes;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool is_needed = std::ranges::any_of(
        node->outputs, [&](const std::string& name) { return !name.empty() && needed.contains(name); });
    if (!is_needed) continue;
    needed.insert(node->inputs.begin(), node->inputs.end());
    nodes.push_back(&*node);
  }
  std::ranges::reverse(nodes);
  return nodes;
}

// Values go when their last reader has run: a deep network's would not fit otherwise.
std::map<std::string, size_t> last_readers(const std::vector<const Node*>& nodes) {
  std::map<std::string, size_t> last;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i]->inputs) last[name] = i;
    for (const std::string& name : nodes[i]->outputs) last.try_emplace(name, i);
  }
  return last;
}

// The number that is left in so many bits.
void wrap_around(Array& array) {
  if (array.element != Element::integer || array.width == Width::any) return;
  for (double& value : array.values) {
    const auto bits = static_cast<uint64_t>(whole(value));
    switch (array.width) {
      case Width::int8: value = static_cast<double>(static_cast<int8_t>(bits)); break;
      case Width::uint8: value = static_cast<double>(static_cast<uint8_t>(bits)); break;
      case Width::int32: value = static_cast<double>(static_cast<int32_t>(bits)); break;
      case Width::any: break;
    }
  }
}

Result<Outputs> computed(const Graph& graph, const Node& node, const Arrays& values, Intent intent) {
  const Operator function = operator_of(node.op);
  if (function == nullptr)
    return Error(ErrorCode::invalid_argument, "the interpreter does not know operator " + node.op);
  Call call{node, graph.opset, {}, intent};
  // Constants become arrays for this node alone.
  std::vector<Array> constants;
  constants.reserve(node.inputs.size());
  for (const std::string& name : node.inputs) {
    if (name.empty()) {
      call.operands.push_back(nullptr);
    } else if (const auto value = values.find(name); value != values.end()) {
      call.operands.push_back(&value->second);
    } else if (const auto constant = graph.constants.find(name); constant != graph.constants.end()) {
      auto array = array_of(constant->second.tensor);
      if (!array) return array.error().with_context(name);
      constants.push_back(std::move(*array));
      call.operands.push_back(&constants.back());
    } else {
      return Error(ErrorCode::malformed, "nothing computes its operand " + name);
    }
  }
  COT_TRY(needs_operands(call, 1));
  COT_ASSIGN(Outputs outputs, function(call));
  for (Array& output : outputs) {
    wrap_around(output);
    if (intent == Intent::specification && output.element == Element::real) {
      for (double& value : output.values) value = static_cast<double>(static_cast<float>(value));
    }
  }
  return outputs;
}

}  // namespace

Result<Arrays> interpret(const Graph& graph, const Arrays& inputs, const std::set<std::string>& wanted, Intent intent) {
  Arrays values = inputs;
  const std::vector<const Node*> nodes = needed_nodes(graph, wanted);
  const std::map<std::string, size_t> last = last_readers(nodes);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i];
    auto outputs = computed(graph, node, values, intent);
    if (!outputs) return outputs.error().with_context(node.what());
    for (size_t k = 0; k < std::min(node.outputs.size(), outputs->size()); ++k) {
      if (!node.outputs[k].empty()) values[node.outputs[k]] = std::move((*outputs)[k]);
    }
    for (const auto* names : {&node.inputs, &node.outputs}) {
      for (const std::string& name : *names) {
        if (last.at(name) == i && !wanted.contains(name)) values.erase(name);
      }
    }
  }
  Arrays result;
  for (const std::string& name : wanted) {
    const auto value = values.find(name);
    if (value == values.end()) return Error(ErrorCode::invalid_argument, "no node computes " + name);
    result[name] = std::move(value->second);
  }
  return result;
}

bool is_interpreted(const std::string& op) { return operator_of(op) != nullptr; }

}  // namespace coterie::model_import
