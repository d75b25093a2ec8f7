#include "model_import/graph/graph.h"

#include <deque>

namespace coterie::model_import {
namespace {

template <typename T>
T attribute_or(const Node& node, const std::string& key, T absent) {
  const auto found = node.attributes.find(key);
  if (found == node.attributes.end()) return absent;
  const T* value = std::get_if<T>(&found->second);
  return value == nullptr ? absent : *value;
}

}  // namespace

DataType data_type(Element element) { return element == Element::real ? DataType::float32 : DataType::int32; }

HostTensor host_integers(std::vector<Integer> values) {
  HostTensor tensor;
  tensor.element = Element::integer;
  tensor.shape = {static_cast<int64_t>(values.size())};
  tensor.integers = std::move(values);
  return tensor;
}

int64_t Node::integer(const std::string& key, int64_t absent) const { return attribute_or(*this, key, absent); }
float Node::real(const std::string& key, float absent) const { return attribute_or(*this, key, absent); }
std::string Node::text(const std::string& key, const std::string& absent) const {
  return attribute_or(*this, key, absent);
}
std::vector<int64_t> Node::integers(const std::string& key) const {
  return attribute_or(*this, key, std::vector<int64_t>{});
}

std::string Node::what() const {
  const std::string& shown = !name.empty() ? name : !outputs.empty() ? outputs[0] : op;
  return "node " + shown + " (" + op + ")";
}

Status sort_nodes(Graph& graph) {
  std::map<std::string, size_t> producer;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& output : graph.nodes[i].outputs) {
      if (output.empty()) continue;
      if (!producer.emplace(output, i).second || graph.constants.contains(output)) {
        return Error(ErrorCode::malformed, graph.nodes[i].what() + " writes " + output + ", which is already written");
      }
    }
  }
  std::set<std::string> given = graph.captures;
  for (const GraphValue& input : graph.inputs) {
    if (producer.contains(input.name)) {
      return Error(ErrorCode::malformed, "the input " + input.name + " is also written by a node");
    }
    given.insert(input.name);
  }
  std::vector<std::vector<size_t>> readers(graph.nodes.size());
  std::vector<size_t> missing(graph.nodes.size());
  std::deque<size_t> ready;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    std::vector<std::string> reads = graph.nodes[i].inputs;
    reads.insert(reads.end(), graph.nodes[i].captures.begin(), graph.nodes[i].captures.end());
    for (const std::string& input : reads) {
      if (input.empty() || graph.constants.contains(input) || given.contains(input)) continue;
      const auto found = producer.find(input);
      if (found == producer.end()) {
        return Error(ErrorCode::malformed, graph.nodes[i].what() + " reads " + input + ", which nothing writes");
      }
      readers[found->second].push_back(i);
      ++missing[i];
    }
    if (missing[i] == 0) ready.push_back(i);
  }
  std::vector<Node> sorted;
  sorted.reserve(graph.nodes.size());
  while (!ready.empty()) {
    const size_t i = ready.front();
    ready.pop_front();
    for (const size_t reader : readers[i]) {
      if (--missing[reader] == 0) ready.push_back(reader);
    }
    sorted.push_back(std::move(graph.nodes[i]));
  }
  if (sorted.size() != graph.nodes.size()) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (missing[i] != 0) return Error(ErrorCode::malformed, graph.nodes[i].what() + " depends on its own output");
    }
  }
  graph.nodes = std::move(sorted);
  for (const GraphValue& output : graph.outputs) {
    if (!producer.contains(output.name) && !graph.constants.contains(output.name) && !given.contains(output.name)) {
      return Error(ErrorCode::malformed, "the output " + output.name + " is written by no node");
    }
  }
  return {};
}

}  // namespace coterie::model_import
