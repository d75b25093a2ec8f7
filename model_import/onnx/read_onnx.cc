#include "model_import/onnx/read_onnx.h"

#include <algorithm>

#include "model_import/onnx/read_proto.h"
#include "model_import/onnx/upgrade.h"
#include "proto/codec/limits.h"

namespace coterie::model_import {
namespace {

// What is the same in all graphs of a file.
struct Reading {
  int64_t opset = 0;
  size_t nodes_left = kNodesMax;
};

Result<Graph> read_graph(const ::onnx::GraphProto& proto, Reading& reading, bool is_body);

Result<Attribute> read_attribute(const ::onnx::AttributeProto& proto, Reading& reading) {
  using ::onnx::AttributeProto;
  switch (proto.type()) {
    case AttributeProto::FLOAT: return Attribute(proto.f());
    case AttributeProto::INT: return Attribute(static_cast<int64_t>(proto.i()));
    case AttributeProto::STRING: return Attribute(proto.s());
    case AttributeProto::FLOATS: return Attribute(std::vector<float>(proto.floats().begin(), proto.floats().end()));
    case AttributeProto::INTS: return Attribute(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case AttributeProto::STRINGS:
      return Attribute(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case AttributeProto::TENSOR: {
      auto tensor = read_tensor(proto.t());
      if (!tensor) return tensor.error().with_context("attribute " + proto.name());
      return Attribute(std::move(*tensor));
    }
    case AttributeProto::GRAPH: {
      auto body = read_graph(proto.g(), reading, true);
      if (!body) return body.error().with_context("attribute " + proto.name());
      return Attribute(std::make_shared<const Graph>(std::move(*body)));
    }
    default: return Attribute();
  }
}

Result<Node> read_node(const ::onnx::NodeProto& proto, Reading& reading) {
  Node node;
  const bool is_standard = proto.domain().empty() || proto.domain() == "ai.onnx";
  node.op = is_standard ? proto.op_type() : proto.domain() + "." + proto.op_type();
  node.name = proto.name();
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  for (const auto& attribute : proto.attribute()) {
    auto read = read_attribute(attribute, reading);
    if (!read) return read.error().with_context(node.what());
    if (const auto* body = std::get_if<Body>(&*read))
      node.captures.insert((*body)->captures.begin(), (*body)->captures.end());
    node.attributes[attribute.name()] = std::move(*read);
  }
  return node;
}

// The constant that a Constant node holds.
Result<HostTensor> constant_of(const Node& node) {
  HostTensor tensor;
  for (const auto& [key, value] : node.attributes) {
    if (const auto* held = std::get_if<HostTensor>(&value)) return *held;
    if (const auto* number = std::get_if<float>(&value)) {
      tensor.reals = {*number};
      return tensor;
    }
    if (const auto* numbers = std::get_if<std::vector<float>>(&value)) {
      tensor.reals = *numbers;
      tensor.shape = {static_cast<int64_t>(numbers->size())};
      return tensor;
    }
    if (const auto* whole = std::get_if<int64_t>(&value)) {
      tensor.element = Element::integer;
      tensor.integers = {{*whole, false}};
      return tensor;
    }
    if (const auto* wholes = std::get_if<std::vector<int64_t>>(&value)) {
      std::vector<Integer> integers;
      for (const int64_t whole_number : *wholes) integers.push_back({whole_number, false});
      return host_integers(std::move(integers));
    }
  }
  return Error(ErrorCode::invalid_argument, node.what() + " holds no tensor of numbers");
}

Result<GraphValue> read_value(const ::onnx::ValueInfoProto& proto) {
  GraphValue value{.name = proto.name(), .element = Element::real, .shape = {}, .form = Form::tensor};
  if (proto.type().has_sequence_type() || proto.type().has_optional_type()) {
    value.form = proto.type().has_sequence_type() ? Form::sequence : Form::optional;
    return value;
  }
  if (!proto.type().has_tensor_type()) return Error(ErrorCode::invalid_argument, proto.name() + " is not a tensor");
  const auto& type = proto.type().tensor_type();
  if (type.elem_type() == ::onnx::TensorProto::STRING) {
    value.form = Form::text;
    return value;
  }
  const std::optional<Element> element = element_of(type.elem_type());
  if (!element) {
    return Error(ErrorCode::invalid_argument, proto.name() + " is neither of floats, integers nor booleans");
  }
  value.element = *element;
  if (type.shape().dim_size() > static_cast<int>(limits::kModelRankMax)) {
    return Error(ErrorCode::too_large, proto.name() + " has more than 8 dimensions");
  }
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    const auto& dim = type.shape().dim(i);
    Dimension dimension{.value = dim.has_dim_value() ? dim.dim_value() : 0, .symbol = dim.dim_param()};
    if (dimension.value < 0) dimension.value = 0;
    if (dimension.value > limits::kModelDimensionMax)
      return Error(ErrorCode::too_large, proto.name() + " has a dimension above 2^31");
    if (dimension.value == 0 && dimension.symbol.empty()) dimension.symbol = proto.name() + "." + std::to_string(i);
    value.shape.push_back(std::move(dimension));
  }
  return value;
}

Result<int64_t> opset_of(const ::onnx::ModelProto& proto) {
  for (const auto& import : proto.opset_import()) {
    if (!import.domain().empty() && import.domain() != "ai.onnx") continue;
    if (import.version() >= kOpsetReadMin && import.version() <= kOpsetMax) return import.version();
    return Error(ErrorCode::invalid_argument, "the model uses opset " + std::to_string(import.version()) +
                                                  ", it must be 1 to 22: export it with opset_version=17");
  }
  const auto is_foreign = [](const ::onnx::NodeProto& node) {
    return !node.domain().empty() && node.domain() != "ai.onnx";
  };
  if (std::ranges::all_of(proto.graph().node(), is_foreign)) return kOpsetMax;  // no node is of those that have opsets
  return Error(ErrorCode::malformed, "the model does not say which opset it uses");
}

Status read_constants(const ::onnx::GraphProto& proto, Graph& graph) {
  if (proto.sparse_initializer_size() != 0) {
    return Error(ErrorCode::invalid_argument, "the model has sparse initializers: save them as dense ones");
  }
  for (const auto& initializer : proto.initializer()) {
    auto tensor = read_tensor(initializer);
    if (!tensor) return tensor.error().with_context("initializer " + initializer.name());
    if (!graph.constants.emplace(initializer.name(), Constant{std::move(*tensor), false}).second) {
      return Error(ErrorCode::malformed, "initializer " + initializer.name() + " exists twice");
    }
  }
  return {};
}

// What the nodes, their bodies and the outputs of a body read and nothing in it makes.
std::set<std::string> captures_of(const Graph& body) {
  std::set<std::string> made{""}, captures;
  for (const GraphValue& input : body.inputs) made.insert(input.name);
  for (const auto& [name, constant] : body.constants) made.insert(name);
  for (const Node& node : body.nodes) made.insert(node.outputs.begin(), node.outputs.end());
  const auto read = [&](const std::string& name) {
    if (!made.contains(name)) captures.insert(name);
  };
  for (const Node& node : body.nodes) {
    std::ranges::for_each(node.inputs, read);
    std::ranges::for_each(node.captures, read);
  }
  for (const GraphValue& output : body.outputs) read(output.name);
  return captures;
}

// Each Constant node is among the constants.
Status read_nodes(const ::onnx::GraphProto& proto, Reading& reading, Graph& graph) {
  const auto count = static_cast<size_t>(proto.node_size());
  if (count > reading.nodes_left) return Error(ErrorCode::too_large, "the model has more than 16384 nodes");
  reading.nodes_left -= count;
  for (const auto& node_proto : proto.node()) {
    COT_ASSIGN(Node node, read_node(node_proto, reading));
    if (node.op != "Constant") {
      graph.nodes.push_back(std::move(node));
      continue;
    }
    COT_ASSIGN(HostTensor tensor, constant_of(node));
    if (node.outputs.size() != 1) return Error(ErrorCode::malformed, node.what() + " must have one output");
    if (!graph.constants.emplace(node.outputs[0], Constant{std::move(tensor), true}).second) {
      return Error(ErrorCode::malformed, node.what() + " writes " + node.outputs[0] + ", which is already written");
    }
  }
  return {};
}

Result<Graph> read_graph(const ::onnx::GraphProto& proto, Reading& reading, bool is_body) {
  Graph graph;
  graph.name = proto.name();
  graph.opset = reading.opset;
  COT_TRY(read_constants(proto, graph));
  for (const auto& input : proto.input()) {
    if (graph.constants.contains(input.name())) continue;
    // What a body is given, its node says; many files leave its type out.
    Result<GraphValue> value =
        is_body ? GraphValue{.name = input.name(), .element = Element::real, .shape = {}} : read_value(input);
    if (!value) return value.error();
    graph.inputs.push_back(std::move(*value));
  }
  for (const auto& output : proto.output()) {
    const Form form = output.type().has_sequence_type()   ? Form::sequence
                      : output.type().has_optional_type() ? Form::optional
                                                          : Form::tensor;
    graph.outputs.push_back({.name = output.name(), .element = Element::real, .shape = {}, .form = form});
  }
  COT_TRY(read_nodes(proto, reading, graph));
  COT_TRY(upgrade(graph));
  if (is_body) graph.captures = captures_of(graph);
  COT_TRY(sort_nodes(graph));
  return graph;
}

}  // namespace

Result<Graph> read_onnx(ByteView file) {
  ::onnx::ModelProto model;
  COT_TRY(parse(file, model, "an ONNX model"));
  if (!model.has_graph() || model.graph().node_size() == 0) {
    return Error(ErrorCode::malformed, "not an ONNX model: it has no graph, or a graph without nodes");
  }
  Reading reading;
  COT_ASSIGN(reading.opset, opset_of(model));
  return read_graph(model.graph(), reading, false);
}

}  // namespace coterie::model_import
