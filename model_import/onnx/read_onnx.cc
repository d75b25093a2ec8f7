#include "model_import/onnx/read_onnx.h"

#include <google/protobuf/io/coded_stream.h>
#include <onnx.pb.h>

#include <algorithm>
#include <cstring>

#include "model_import/graph/small_floats.h"
#include "model_import/onnx/upgrade.h"
#include "proto/codec/limits.h"

namespace coterie::model_import {
namespace {

using ::onnx::TensorProto;

template <typename T, typename Convert>
bool from_raw(const std::string& raw, uint64_t count, Convert&& convert) {
  if (raw.size() % sizeof(T) != 0 || raw.size() / sizeof(T) != count) return false;
  for (uint64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
    convert(value);
  }
  return true;
}

template <typename Field, typename Convert>
bool from_field(const Field& field, uint64_t count, Convert&& convert) {
  if (static_cast<uint64_t>(field.size()) != count) return false;
  for (const auto value : field) convert(value);
  return true;
}

Result<uint64_t> count_of(const TensorProto& proto, Shape& shape) {
  uint64_t count = 1;
  if (proto.dims_size() > static_cast<int>(limits::kModelRankMax))
    return Error(ErrorCode::too_large, "has more than 8 dimensions");
  for (const int64_t dimension : proto.dims()) {
    if (dimension < 0) return Error(ErrorCode::malformed, "has a negative dimension");
    shape.push_back(dimension);
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(dimension), &count)) {
      return Error(ErrorCode::malformed, "has a shape whose number of elements overflows");
    }
  }
  return count;
}

bool read_reals(const TensorProto& proto, uint64_t count, HostTensor& tensor) {
  const auto add = [&](auto value) { tensor.reals.push_back(static_cast<float>(value)); };
  const auto add_half = [&](auto value) { tensor.reals.push_back(half_to_float(static_cast<uint16_t>(value))); };
  const auto add_bfloat = [&](auto value) { tensor.reals.push_back(bfloat_to_float(static_cast<uint16_t>(value))); };
  const bool is_raw = proto.has_raw_data();
  const std::string& raw = proto.raw_data();
  switch (proto.data_type()) {
    case TensorProto::FLOAT:
      if (!is_raw) return from_field(proto.float_data(), count, add);
      if (raw.size() % sizeof(float) != 0 || raw.size() / sizeof(float) != count) return false;
      tensor.reals.resize(count);
      if (count != 0) std::memcpy(tensor.reals.data(), raw.data(), raw.size());
      return true;
    case TensorProto::DOUBLE:
      return is_raw ? from_raw<double>(raw, count, add) : from_field(proto.double_data(), count, add);
    case TensorProto::FLOAT16:
      return is_raw ? from_raw<uint16_t>(raw, count, add_half) : from_field(proto.int32_data(), count, add_half);
    default:
      return is_raw ? from_raw<uint16_t>(raw, count, add_bfloat) : from_field(proto.int32_data(), count, add_bfloat);
  }
}

bool read_integers(const TensorProto& proto, uint64_t count, HostTensor& tensor) {
  const auto add = [&](auto value) { tensor.integers.push_back({static_cast<int64_t>(value), false}); };
  const auto add_bool = [&](auto value) { tensor.integers.push_back({value != 0, false}); };
  const bool is_raw = proto.has_raw_data();
  const std::string& raw = proto.raw_data();
  switch (proto.data_type()) {
    case TensorProto::INT64:
      return is_raw ? from_raw<int64_t>(raw, count, add) : from_field(proto.int64_data(), count, add);
    case TensorProto::INT32:
      return is_raw ? from_raw<int32_t>(raw, count, add) : from_field(proto.int32_data(), count, add);
    case TensorProto::INT16:
      return is_raw ? from_raw<int16_t>(raw, count, add) : from_field(proto.int32_data(), count, add);
    case TensorProto::INT8:
      return is_raw ? from_raw<int8_t>(raw, count, add) : from_field(proto.int32_data(), count, add);
    case TensorProto::UINT8:
      return is_raw ? from_raw<uint8_t>(raw, count, add) : from_field(proto.int32_data(), count, add);
    case TensorProto::UINT16:
      return is_raw ? from_raw<uint16_t>(raw, count, add) : from_field(proto.int32_data(), count, add);
    case TensorProto::UINT32:
      return is_raw ? from_raw<uint32_t>(raw, count, add) : from_field(proto.uint64_data(), count, add);
    case TensorProto::UINT64:
      return (is_raw ? from_raw<uint64_t>(raw, count, add) : from_field(proto.uint64_data(), count, add)) &&
             std::ranges::none_of(tensor.integers, [](const Integer& integer) { return integer.value < 0; });
    default: return is_raw ? from_raw<uint8_t>(raw, count, add_bool) : from_field(proto.int32_data(), count, add_bool);
  }
}

std::optional<Element> element_of(int type) {
  switch (type) {
    case TensorProto::FLOAT:
    case TensorProto::DOUBLE:
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16: return Element::real;
    case TensorProto::INT64:
    case TensorProto::INT32:
    case TensorProto::INT16:
    case TensorProto::INT8:
    case TensorProto::UINT8:
    case TensorProto::UINT16:
    case TensorProto::UINT32:
    case TensorProto::UINT64: return Element::integer;
    case TensorProto::BOOL: return Element::boolean;
    default: return std::nullopt;
  }
}

Width width_of(int type) {
  switch (type) {
    case TensorProto::INT8: return Width::int8;
    case TensorProto::UINT8: return Width::uint8;
    case TensorProto::INT32: return Width::int32;
    default: return Width::any;
  }
}

Result<HostTensor> read_tensor(const TensorProto& proto) {
  if (proto.data_location() == TensorProto::EXTERNAL || proto.external_data_size() != 0) {
    return Error(ErrorCode::invalid_argument,
                 "keeps its data in another file: save the model with its weights inside "
                 "(onnx.save_model(..., save_as_external_data=False))");
  }
  const std::optional<Element> element = element_of(proto.data_type());
  if (!element) {
    return Error(ErrorCode::invalid_argument,
                 "is of type " + std::to_string(proto.data_type()) +
                     " (TensorProto.DataType): only floats, integers and booleans are read");
  }
  HostTensor tensor;
  tensor.element = *element;
  tensor.width = width_of(proto.data_type());
  COT_ASSIGN(const uint64_t count, count_of(proto, tensor.shape));
  const bool read = *element == Element::real ? read_reals(proto, count, tensor) : read_integers(proto, count, tensor);
  if (!read)
    return Error(ErrorCode::malformed, "does not hold the " + std::to_string(count) + " elements of its shape");
  return tensor;
}

Result<Attribute> read_attribute(const ::onnx::AttributeProto& proto) {
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
    default: return Attribute();
  }
}

Result<Node> read_node(const ::onnx::NodeProto& proto) {
  Node node;
  const bool is_standard = proto.domain().empty() || proto.domain() == "ai.onnx";
  node.op = is_standard ? proto.op_type() : proto.domain() + "." + proto.op_type();
  node.name = proto.name();
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  for (const auto& attribute : proto.attribute()) {
    auto read = read_attribute(attribute);
    if (!read) return read.error().with_context(node.what());
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
  GraphValue value{.name = proto.name(), .element = Element::real, .shape = {}};
  if (!proto.type().has_tensor_type()) return Error(ErrorCode::invalid_argument, proto.name() + " is not a tensor");
  const auto& type = proto.type().tensor_type();
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
  return Error(ErrorCode::malformed, "the model does not say which opset it uses");
}

template <typename Message>
Status parse(ByteView file, Message& message, const char* what) {
  if (file.size() > kOnnxFileBytesMax) return Error(ErrorCode::too_large, std::string(what) + " is larger than 2 GiB");
  google::protobuf::io::CodedInputStream stream(file.data(), static_cast<int>(file.size()));
  stream.SetRecursionLimit(kNestingMax);
  if (!message.ParsePartialFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return Error(ErrorCode::malformed, std::string("not ") + what + ": the bytes are cut short or of another format");
  }
  return {};
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

}  // namespace

Result<Graph> read_onnx(ByteView file) {
  ::onnx::ModelProto model;
  COT_TRY(parse(file, model, "an ONNX model"));
  if (!model.has_graph() || model.graph().node_size() == 0) {
    return Error(ErrorCode::malformed, "not an ONNX model: it has no graph, or a graph without nodes");
  }
  const ::onnx::GraphProto& proto = model.graph();
  if (static_cast<size_t>(proto.node_size()) > kNodesMax) {
    return Error(ErrorCode::too_large, "the model has " + std::to_string(proto.node_size()) + " nodes, at most 16384");
  }
  Graph graph;
  graph.name = proto.name();
  COT_ASSIGN(graph.opset, opset_of(model));
  COT_TRY(read_constants(proto, graph));
  for (const auto& input : proto.input()) {
    if (graph.constants.contains(input.name())) continue;
    COT_ASSIGN(GraphValue value, read_value(input));
    graph.inputs.push_back(std::move(value));
  }
  for (const auto& output : proto.output())
    graph.outputs.push_back({.name = output.name(), .element = Element::real, .shape = {}});
  for (const auto& node_proto : proto.node()) {
    COT_ASSIGN(Node node, read_node(node_proto));
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
  COT_TRY(upgrade(graph));
  COT_TRY(sort_nodes(graph));
  return graph;
}

Result<HostTensor> read_onnx_tensor(ByteView file) {
  TensorProto proto;
  COT_TRY(parse(file, proto, "an ONNX tensor"));
  return read_tensor(proto);
}

}  // namespace coterie::model_import
