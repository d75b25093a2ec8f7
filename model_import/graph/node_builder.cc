#include "model_import/graph/node_builder.h"

#include <utility>

namespace coterie::model_import {

std::string NodeBuilder::own_name(const std::string& wanted) {
  std::string name;
  do name = wanted + "@" + std::to_string(made_++);
  while (names_.contains(name));
  return name;
}

std::string NodeBuilder::constant_name(const std::string& wanted) {
  return graph_.constants.contains(wanted) ? own_name(wanted) : wanted;
}

std::string NodeBuilder::node(const std::string& op, std::vector<std::string> inputs,
                              std::map<std::string, Attribute> attributes, const std::string& to) {
  const std::string written = to.empty() ? own_name(base_name_) : to;
  graph_.nodes.push_back({.op = op,
                          .name = base_name_ + "." + op,
                          .inputs = std::move(inputs),
                          .outputs = {written},
                          .attributes = std::move(attributes)});
  return written;
}

std::vector<std::string> NodeBuilder::node_with_outputs(size_t count, const std::string& op,
                                                        std::vector<std::string> inputs,
                                                        std::map<std::string, Attribute> attributes) {
  node(op, std::move(inputs), std::move(attributes));
  std::vector<std::string>& outputs = graph_.nodes.back().outputs;
  while (outputs.size() < count) outputs.push_back(own_name(base_name_));
  return outputs;
}

std::string NodeBuilder::constant(HostTensor tensor) {
  const std::string name = own_name("constant");
  graph_.constants[name] = {std::move(tensor), true};
  return name;
}

std::string NodeBuilder::constant(std::vector<int64_t> values) {
  std::vector<Integer> integers;
  for (const int64_t value : values) integers.push_back({value, false});
  return constant(host_integers(std::move(integers)));
}

std::string NodeBuilder::real(float value) {
  HostTensor tensor;
  tensor.reals = {value};
  return constant(std::move(tensor));
}

std::string NodeBuilder::nchw(const std::string& value) {
  return node("Transpose", {value}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
}

std::string NodeBuilder::nhwc(const std::string& value) {
  return node("Transpose", {value}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
}

std::string NodeBuilder::clipped(const std::string& value, float least, float most) {
  const std::string low = real(least), high = real(most);
  return node("Clip", {value, low, high});
}

}  // namespace coterie::model_import
