// Model frames: the forward graph and where its parameters lie.
#include <algorithm>

#include "base/checked.h"
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"
#include "proto/generated/model_generated.h"

namespace coterie {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

struct BuiltAttributes {
  model::Attributes type = model::Attributes::NONE;
  Offset<void> offset = 0;
};

BuiltAttributes build_attributes(FlatBufferBuilder& builder, const OpInfo& op) {
  if (const auto* a = std::get_if<Conv2dAttributes>(&op.attributes)) {
    return {model::Attributes::Conv2d,
            model::CreateConv2d(builder, a->stride_h, a->stride_w, a->pad_top, a->pad_left, a->pad_bottom,
                                a->pad_right, a->groups)
                .Union()};
  }
  if (const auto* a = std::get_if<Pool2dAttributes>(&op.attributes)) {
    return {model::Attributes::Pool2d,
            model::CreatePool2d(builder, a->kernel_h, a->kernel_w, a->stride_h, a->stride_w, a->pad_top, a->pad_left,
                                a->pad_bottom, a->pad_right)
                .Union()};
  }
  if (const auto* a = std::get_if<ReshapeAttributes>(&op.attributes)) {
    return {model::Attributes::Reshape, model::CreateReshape(builder, builder.CreateVector(a->shape)).Union()};
  }
  return {};
}

Result<Shape> parse_shape(const flatbuffers::Vector<int64_t>* field, const std::string& what) {
  Shape shape;
  if (field == nullptr) return shape;
  if (field->size() > limits::kModelRankMax) return flat::out_of_range(what, "has more than 8 dimensions");
  for (uint32_t i = 0; i < field->size(); ++i) {
    const int64_t dimension = flat::element(*field, i);
    if (dimension < 1 || dimension > limits::kModelDimensionMax) {
      return flat::out_of_range(what, "has a dimension outside [1, 2^31]");
    }
    shape.push_back(dimension);
  }
  return shape;
}

Result<TensorInfo> parse_tensor(const model::Tensor& table) {
  TensorInfo tensor;
  COT_ASSIGN(tensor.name, flat::text(table.name(), "tensor name", limits::kTextBytesMax, 1));
  if (table.role() < model::TensorRole::input || table.role() > model::TensorRole::activation) {
    return flat::out_of_range("tensor " + tensor.name, "has an unknown role");
  }
  tensor.role = static_cast<TensorRole>(table.role());
  COT_ASSIGN(tensor.shape, parse_shape(table.shape(), "tensor " + tensor.name));
  if (tensor.role != TensorRole::activation && tensor.shape.empty()) {
    return flat::out_of_range("tensor " + tensor.name, "has no shape");
  }
  if (tensor.role == TensorRole::activation && !tensor.shape.empty()) {
    return flat::out_of_range("tensor " + tensor.name, "is an activation and must have no shape");
  }
  tensor.payload_offset = table.payload_offset();
  return tensor;
}

Result<OpInfo> parse_op(const model::Op& table, size_t tensors) {
  OpInfo op;
  COT_ASSIGN(op.name, flat::text(table.name(), "op name", limits::kTextBytesMax, 1));
  op.kind = static_cast<OpKind>(table.kind());
  if (to_string(op.kind) == "unknown") return flat::out_of_range("op " + op.name, "is of an unknown kind");
  for (const auto* list : {table.inputs(), table.outputs()}) {
    if (list->size() < 1 || list->size() > 8) return flat::out_of_range("op " + op.name, "must have 1 to 8 inputs and outputs");
    for (uint32_t index : *list) {
      if (index >= tensors) return flat::out_of_range("op " + op.name, "refers to a tensor that does not exist");
    }
  }
  op.inputs.assign(table.inputs()->begin(), table.inputs()->end());
  op.outputs.assign(table.outputs()->begin(), table.outputs()->end());
  if (const auto* a = table.attributes_as_Conv2d()) {
    op.attributes = Conv2dAttributes{a->stride_h(),   a->stride_w(),  a->pad_top(), a->pad_left(),
                                     a->pad_bottom(), a->pad_right(), a->groups()};
  } else if (const auto* p = table.attributes_as_Pool2d()) {
    op.attributes = Pool2dAttributes{p->kernel_h(), p->kernel_w(), p->stride_h(),   p->stride_w(),
                                     p->pad_top(),  p->pad_left(), p->pad_bottom(), p->pad_right()};
  } else if (const auto* r = table.attributes_as_Reshape()) {
    COT_ASSIGN(Shape shape, parse_shape(r->shape(), "op " + op.name));
    op.attributes = ReshapeAttributes{std::move(shape)};
  }
  return op;
}

// Every parameter inside the payload, aligned, and no two overlapping.
Status check_parameters(const ModelGraph& graph, uint64_t payload_bytes) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const TensorInfo& tensor : graph.tensors) {
    if (tensor.role != TensorRole::parameter) continue;
    const Result<uint64_t> elements = element_count(tensor.shape);
    if (!elements) return elements.error().with_context("parameter " + tensor.name);
    const auto size = checked_multiply<uint64_t>(*elements, sizeof(float));
    const auto end = size ? checked_add(tensor.payload_offset, *size) : std::nullopt;
    if (!end || *end > payload_bytes || tensor.payload_offset % limits::kParameterAlignment != 0) {
      return flat::out_of_range("parameter " + tensor.name, "does not lie aligned inside the payload");
    }
    ranges.emplace_back(tensor.payload_offset, *end);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) return flat::out_of_range("parameters", "overlap in the payload");
  }
  return {};
}

// Every activation is written by exactly one op, before any op reads it; the input and parameters are never written.
Status check_order(const ModelGraph& graph) {
  std::vector<bool> ready(graph.tensors.size());
  for (size_t i = 0; i < graph.tensors.size(); ++i) ready[i] = graph.tensors[i].role != TensorRole::activation;
  for (const OpInfo& op : graph.ops) {
    for (uint32_t index : op.inputs) {
      if (!ready[index]) return flat::out_of_range("op " + op.name, "reads a tensor that no earlier op has written");
    }
    for (uint32_t index : op.outputs) {
      if (ready[index]) return flat::out_of_range("op " + op.name, "writes a tensor that is already written");
      ready[index] = true;
    }
  }
  if (graph.tensors[graph.input].role != TensorRole::input) return flat::out_of_range("input", "is not an input tensor");
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorInfo& tensor = graph.tensors[i];
    if (!ready[i]) return flat::out_of_range("tensor " + tensor.name, "is not written by any op");
    if (tensor.role == TensorRole::input && i != graph.input) {
      return flat::out_of_range("tensor " + tensor.name, "is an input, but not the model's");
    }
  }
  if (graph.tensors[graph.output].role != TensorRole::activation) {
    return flat::out_of_range("output", "is not written by any op");
  }
  return {};
}

Status parse_into(const model::Model& table, ModelGraph& graph) {
  COT_ASSIGN(graph.name, flat::text(table.name(), "model name", limits::kTextBytesMax));
  if (table.tensors()->size() > limits::kModelTensorsMax) return flat::out_of_range("model", "has too many tensors");
  if (table.ops()->size() < 1 || table.ops()->size() > limits::kModelOpsMax) {
    return flat::out_of_range("model", "must have 1 to 16384 ops");
  }
  for (const model::Tensor* tensor : *table.tensors()) {
    COT_ASSIGN(TensorInfo parsed, parse_tensor(*tensor));
    graph.tensors.push_back(std::move(parsed));
  }
  for (const model::Op* op : *table.ops()) {
    COT_ASSIGN(OpInfo parsed, parse_op(*op, graph.tensors.size()));
    graph.ops.push_back(std::move(parsed));
  }
  graph.input = table.input();
  graph.output = table.output();
  if (graph.input >= graph.tensors.size() || graph.output >= graph.tensors.size()) {
    return flat::out_of_range("model", "has an input or output that does not exist");
  }
  if (table.properties() == nullptr) return {};
  if (table.properties()->size() > limits::kModelPropertiesMax) return flat::out_of_range("model", "has too many properties");
  for (const model::Property* property : *table.properties()) {
    COT_ASSIGN(std::string key, flat::text(property->key(), "property key", limits::kTextBytesMax, 1));
    COT_ASSIGN(graph.properties[key], flat::text(property->value(), "property " + key, limits::kDetailBytesMax));
  }
  return {};
}

}  // namespace

Bytes encode_head(const ModelGraph& message, uint64_t payload_bytes) {
  FlatBufferBuilder builder;
  std::vector<Offset<model::Tensor>> tensors;
  for (const TensorInfo& tensor : message.tensors) {
    const auto name = builder.CreateString(tensor.name);
    Offset<flatbuffers::Vector<int64_t>> shape = 0;
    if (!tensor.shape.empty()) shape = builder.CreateVector(tensor.shape);
    tensors.push_back(model::CreateTensor(builder, name, static_cast<model::TensorRole>(tensor.role), shape,
                                          tensor.payload_offset));
  }
  std::vector<Offset<model::Op>> ops;
  for (const OpInfo& op : message.ops) {
    const auto name = builder.CreateString(op.name);
    const auto inputs = builder.CreateVector(op.inputs);
    const auto outputs = builder.CreateVector(op.outputs);
    const BuiltAttributes attributes = build_attributes(builder, op);
    ops.push_back(model::CreateOp(builder, static_cast<uint8_t>(op.kind), name, inputs, outputs, attributes.type,
                                  attributes.offset));
  }
  std::vector<Offset<model::Property>> properties;
  for (const auto& [key, value] : message.properties) {
    // One statement each: the order of a call's arguments, and so the bytes, would be the compiler's choice.
    const auto key_text = builder.CreateString(key);
    const auto value_text = builder.CreateString(value);
    properties.push_back(model::CreateProperty(builder, key_text, value_text));
  }
  const auto name = builder.CreateString(message.name);
  const auto tensor_vector = builder.CreateVector(tensors);
  const auto op_vector = builder.CreateVector(ops);
  const auto property_vector = builder.CreateVector(properties);
  builder.Finish(model::CreateModel(builder, name, tensor_vector, op_vector, message.input, message.output,
                                    property_vector));
  return flat::finish_head(builder, FrameKind::model, payload_bytes);
}

Result<Decoded<ModelGraph>> decode_model(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::model));
  COT_ASSIGN(const auto root, flat::Root<model::Model>::verify(frame.header));
  ModelGraph graph;
  COT_TRY(parse_into(*root, graph));
  COT_TRY(check_parameters(graph, frame.payload.size()));
  COT_TRY(check_order(graph));
  return Decoded<ModelGraph>{std::move(graph), frame.payload};
}

}  // namespace coterie
