#include "tests/unit/model_import/matrix/row_graph.h"

#include <utility>

namespace coterie::model_import::matrix {
namespace {

constexpr uint64_t kSeed = 20;

uint64_t count_of(const Shape& shape) {
  uint64_t count = 1;
  for (const int64_t dimension : shape) count *= static_cast<uint64_t>(dimension);
  return count;
}

}  // namespace

RowGraph::RowGraph(int64_t edition, bool folded, bool training)
    : opset(edition), is_folded(folded), is_training(training), prng_(kSeed) {
  graph.name = "row";
  graph.opset = edition;
}

void RowGraph::add_input(const std::string& name, const Shape& shape, Element element) {
  GraphValue value{.name = name, .element = element, .shape = {{0, "batch"}}};
  for (const int64_t dimension : shape) value.shape.push_back({dimension, ""});
  graph.inputs.push_back(std::move(value));
}

std::string RowGraph::input(const std::string& name, const Shape& shape) {
  add_input(name, shape, Element::real);
  return name;
}

std::string RowGraph::index_input(const std::string& name, const Shape& shape, int64_t limit) {
  add_input(name, shape, Element::integer);
  limits_[name] = limit;
  return name;
}

int64_t RowGraph::index_limit(const std::string& name) const {
  const auto found = limits_.find(name);
  return found == limits_.end() ? 0 : found->second;
}

std::string RowGraph::weight(const std::string& name, const Shape& shape, double low, double high) {
  HostTensor tensor;
  tensor.shape = shape;
  for (uint64_t i = 0; i < count_of(shape); ++i) tensor.reals.push_back(static_cast<float>(prng_.uniform(low, high)));
  weights.push_back(name);
  if (is_folded) {
    graph.constants[name] = {std::move(tensor), false};
    return name;
  }
  if (shape.size() < 2) {
    tensor.shape.insert(tensor.shape.begin(), 1);
    graph.constants[name] = {std::move(tensor), false};
    return node_with_list("Squeeze", {name}, "axes", {0}, 13);
  }
  std::vector<int64_t> backwards;
  for (size_t i = shape.size(); i-- > 0;) backwards.push_back(static_cast<int64_t>(i));
  tensor.shape.assign(shape.rbegin(), shape.rend());
  graph.constants[name] = {std::move(tensor), false};
  return node("Transpose", {name}, {{"perm", backwards}});
}

std::string RowGraph::table(const Shape& shape, const std::vector<float>& values) {
  const std::string name = unique("constant");
  graph.constants[name] = {{.shape = shape, .reals = values}, true};
  return name;
}

std::string RowGraph::list(const std::vector<int64_t>& values) {
  const auto add = [&](const std::vector<int64_t>& numbers) {
    std::vector<Integer> integers;
    for (const int64_t number : numbers) integers.push_back({number, false});
    const std::string name = unique("list");
    graph.constants[name] = {host_integers(std::move(integers)), true};
    return name;
  };
  if (is_folded || values.empty()) return add(values);
  std::vector<std::string> parts;
  for (const int64_t value : values) parts.push_back(add({value}));
  return node("Concat", std::move(parts), {{"axis", int64_t{0}}});
}

std::string RowGraph::node(const std::string& op, std::vector<std::string> inputs,
                           std::map<std::string, Attribute> attributes, size_t outputs) {
  const std::string name = unique(op);
  std::vector<std::string> names{name};
  for (size_t i = 1; i < outputs; ++i) names.push_back(name + "." + std::to_string(i));
  graph.nodes.push_back({.op = op,
                         .name = "/" + name + "/" + op,
                         .inputs = std::move(inputs),
                         .outputs = std::move(names),
                         .attributes = std::move(attributes)});
  return name;
}

std::string RowGraph::node_with_list(const std::string& op, std::vector<std::string> inputs, const std::string& key,
                                     const std::vector<int64_t>& values, int64_t since,
                                     std::map<std::string, Attribute> attributes, size_t outputs) {
  if (opset < since) attributes[key] = values;
  else inputs.push_back(list(values));
  return node(op, std::move(inputs), std::move(attributes), outputs);
}

}  // namespace coterie::model_import::matrix
