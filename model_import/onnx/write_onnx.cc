#include "model_import/onnx/write_onnx.h"

#include <onnx.pb.h>

#include "model_import/onnx/read_onnx.h"

namespace coterie::model_import {
namespace {

using ::onnx::TensorProto;

int type_of(Element element) {
  switch (element) {
    case Element::real: return TensorProto::FLOAT;
    case Element::integer: return TensorProto::INT64;
    case Element::boolean: return TensorProto::BOOL;
  }
  return TensorProto::UNDEFINED;
}

int type_of(const HostTensor& tensor) {
  switch (tensor.width) {
    case Width::int8: return TensorProto::INT8;
    case Width::uint8: return TensorProto::UINT8;
    case Width::int32: return TensorProto::INT32;
    default: return type_of(tensor.element);  // floats of every width are written as float32
  }
}

template <typename T>
std::string raw_integers(const HostTensor& tensor) {
  std::vector<T> values;
  for (const Integer& integer : tensor.integers) values.push_back(static_cast<T>(integer.value));
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

void write_tensor(const std::string& name, const HostTensor& tensor, TensorProto& proto) {
  proto.set_name(name);
  proto.set_data_type(type_of(tensor));
  for (const int64_t dimension : tensor.shape) proto.add_dims(dimension);
  if (tensor.element == Element::real) {
    proto.set_raw_data(tensor.reals.data(), tensor.reals.size() * sizeof(float));
    return;
  }
  switch (tensor.width) {
    case Width::int8: proto.set_raw_data(raw_integers<int8_t>(tensor)); return;
    case Width::uint8: proto.set_raw_data(raw_integers<uint8_t>(tensor)); return;
    case Width::int32: proto.set_raw_data(raw_integers<int32_t>(tensor)); return;
    default: proto.set_raw_data(raw_integers<int64_t>(tensor)); return;
  }
}

void write_attribute(const std::string& name, const Attribute& attribute, ::onnx::NodeProto& node) {
  using ::onnx::AttributeProto;
  AttributeProto& proto = *node.add_attribute();
  proto.set_name(name);
  if (const auto* real = std::get_if<float>(&attribute)) {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(*real);
  } else if (const auto* integer = std::get_if<int64_t>(&attribute)) {
    proto.set_type(AttributeProto::INT);
    proto.set_i(*integer);
  } else if (const auto* text = std::get_if<std::string>(&attribute)) {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(*text);
  } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&attribute)) {
    proto.set_type(AttributeProto::INTS);
    proto.mutable_ints()->Add(integers->begin(), integers->end());
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute)) {
    proto.set_type(AttributeProto::STRINGS);
    for (const std::string& each : *texts) proto.add_strings(each);
  }
}

void write_value(const GraphValue& value, ::onnx::ValueInfoProto& proto) {
  proto.set_name(value.name);
  auto& type = *proto.mutable_type()->mutable_tensor_type();
  type.set_elem_type(type_of(value.element));
  type.mutable_shape();
  for (const Dimension& dimension : value.shape) {
    auto& dim = *type.mutable_shape()->add_dim();
    if (dimension.value > 0) dim.set_dim_value(dimension.value);
    else dim.set_dim_param(dimension.symbol);
  }
}

}  // namespace

Result<Bytes> write_onnx(const Graph& graph) {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("coterie");
  auto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(kOpsetWritten);
  ::onnx::GraphProto& proto = *model.mutable_graph();
  proto.set_name(graph.name);
  uint64_t bytes = 0;
  for (const auto& [name, constant] : graph.constants) {
    bytes += constant.tensor.stored() * sizeof(int64_t);
    if (bytes > 2 * kOnnxFileBytesMax)
      return Error(ErrorCode::too_large, "the model does not fit into an ONNX file of 2 GiB");
    write_tensor(name, constant.tensor, *proto.add_initializer());
  }
  for (const Node& node : graph.nodes) {
    ::onnx::NodeProto& to = *proto.add_node();
    to.set_op_type(node.op);
    to.set_name(node.name);
    for (const std::string& input : node.inputs) to.add_input(input);
    for (const std::string& output : node.outputs) to.add_output(output);
    for (const auto& [name, attribute] : node.attributes) write_attribute(name, attribute, to);
  }
  for (const GraphValue& input : graph.inputs) write_value(input, *proto.add_input());
  for (const GraphValue& output : graph.outputs) write_value(output, *proto.add_output());
  if (model.ByteSizeLong() > kOnnxFileBytesMax) {
    return Error(ErrorCode::too_large, "the model does not fit into an ONNX file of 2 GiB");
  }
  Bytes file(model.ByteSizeLong());
  if (!model.SerializeToArray(file.data(), static_cast<int>(file.size()))) {
    return Error(ErrorCode::internal, "protobuf did not write the model");
  }
  return file;
}

}  // namespace coterie::model_import
