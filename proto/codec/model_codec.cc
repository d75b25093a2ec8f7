// Model frames: the forward graph and where its parameters lie.
#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "base/checked.h"
#include "base/order/sort_key.h"
#include "base/text/concat.h"
#include "proto/codec/attribute_fields.h"
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"
#include "proto/codec/stored_integers.h"
#include "proto/codec/stored_model.h"
#include "proto/codec/update/bit_packing.h"
#include "proto/generated/model_generated.h"

namespace coterie {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// --- tensors and ops

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

Status check_constant(const TensorInfo& tensor) {
  const std::string what = concat({"tensor ", tensor.name});
  if (tensor.role != TensorRole::constant) {
    return tensor.data.empty() ? Status() : flat::out_of_range(what, "has data and is not a constant");
  }
  const Result<uint64_t> elements = element_count(tensor.shape);
  if (!elements) return elements.error().with_context(what);
  if (tensor.data.size() % kElementBytes != 0 || tensor.data.size() / kElementBytes != *elements) {
    return flat::out_of_range(what, "does not have the data of its shape");
  }
  return {};
}

constexpr uint8_t kInt8 = 3, kPacked = 4;  // of a stored parameter
constexpr uint32_t kInt8Bits = 8;

// A parameter that is stored as integers: their bits, and the scales of its channels.
Result<QuantisedTensor> parse_scales(const model::Tensor& table, const TensorInfo& tensor, uint32_t index) {
  const std::string what = concat({"tensor ", tensor.name});
  if (tensor.role != TensorRole::parameter)
    return flat::out_of_range(what, "is stored as integers and not a parameter");
  const bool is_packed = table.type() == kPacked;
  if (is_packed && (table.bits() < kStoredBitsMin || table.bits() > kStoredBitsMax || table.bits() == kInt8Bits)) {
    return flat::out_of_range(what, "has packed integers that are not of 1 to 7 or 9 to 16 bits");
  }
  QuantisedTensor quantised{
      .tensor = index, .axis = table.axis(), .scales = {}, .bits = is_packed ? table.bits() : kInt8Bits};
  if (quantised.axis >= tensor.shape.size() || table.scales() == nullptr ||
      table.scales()->size() != static_cast<uint64_t>(tensor.shape[quantised.axis])) {
    return flat::out_of_range(what, "does not have a scale for each channel");
  }
  quantised.scales.assign(table.scales()->begin(), table.scales()->end());
  for (const float scale : quantised.scales) {
    // With the largest integer times the largest scale the weights are finite, too.
    if (!(scale > 0) ||
        scale > std::numeric_limits<float>::max() / static_cast<float>(stored_level_max(quantised.bits))) {
      return flat::out_of_range(what, "has a scale that is not above 0 and finite");
    }
  }
  return quantised;
}

// An input or an activation that is computed as int8.
Result<TensorGrid> parse_grid(const model::Tensor& table, const TensorInfo& tensor, uint32_t index) {
  const std::string what = concat({"tensor ", tensor.name});
  if (tensor.role != TensorRole::input && tensor.role != TensorRole::activation) {
    return flat::out_of_range(what, "has a grid and is neither an input nor an activation");
  }
  if (tensor.type != DataType::float32) return flat::out_of_range(what, "has a grid and is not float32");
  if (!(table.grid_scale() >= kGridScaleMin && table.grid_scale() <= kGridScaleMax)) {
    return flat::out_of_range(what, "has a grid whose scale is outside [2^-60, 2^60]");
  }
  return TensorGrid{index, table.grid_scale(), table.grid_zero()};
}

bool is_integers(const model::Tensor& table) { return table.type() == kInt8 || table.type() == kPacked; }
bool has_grid(const model::Tensor& table) { return table.grid_scale() != 0 || table.grid_zero() != 0; }

// What of a tensor is not float32. Behind a pointer: who decodes no stored model does not link what reads it.
struct FormsReader {
  StoredForms forms;
  Status (*read)(const model::Tensor& table, const TensorInfo& tensor, uint32_t index, StoredForms& forms);
};

Status read_forms(const model::Tensor& table, const TensorInfo& tensor, uint32_t index, StoredForms& forms) {
  if (is_integers(table)) {
    COT_ASSIGN(QuantisedTensor scales, parse_scales(table, tensor, index));
    forms.weights.push_back(std::move(scales));
  }
  if (has_grid(table)) {
    COT_ASSIGN(const TensorGrid grid, parse_grid(table, tensor, index));
    forms.grids.push_back(grid);
  }
  return {};
}

// `reader`: where tensors may be int8, which then are float32 in what is returned; null: they may not.
[[gnu::noinline]] Result<TensorInfo> parse_tensor(const model::Tensor& table, uint32_t index, FormsReader* reader) {
  TensorInfo tensor;
  COT_ASSIGN(tensor.name, flat::text(table.name(), "tensor name", limits::kTextBytesMax, 1));
  const std::string what = concat({"tensor ", tensor.name});
  if (table.role() < model::TensorRole::input || table.role() > model::TensorRole::constant) {
    return flat::out_of_range(what, "has an unknown role");
  }
  tensor.role = static_cast<TensorRole>(table.role());
  if (has_grid(table) && reader == nullptr) {
    return flat::out_of_range(what,
                              "is computed as int8, and here is float32 alone (coterie model dequantise writes it)");
  }
  if (is_integers(table) && reader == nullptr) {
    return flat::out_of_range(what, concat({"is stored as ", table.type() == kInt8 ? "int8" : "packed integers",
                                            ", which whoever opens a model file expands (coterie model dequantise)"}));
  }
  if (!is_integers(table)) {
    if (table.type() < 1 || table.type() > 2) return flat::out_of_range(what, "has an unknown type");
    tensor.type = static_cast<DataType>(table.type());
  }
  COT_ASSIGN(tensor.shape, parse_shape(table.shape(), what));
  if (reader != nullptr) COT_TRY(reader->read(table, tensor, index, reader->forms));
  if (has_payload(tensor.role)) {
    if (tensor.shape.empty()) return flat::out_of_range(what, "has no shape");
    if (tensor.type != DataType::float32) return flat::out_of_range(what, "must be float32");
  }
  if (tensor.role == TensorRole::activation && (!tensor.shape.empty() || tensor.type != DataType::float32)) {
    return flat::out_of_range(what, "is an activation and must have no shape or type");
  }
  tensor.payload_offset = table.payload_offset();
  tensor.is_frozen = table.is_frozen();
  if (tensor.is_frozen && tensor.role != TensorRole::parameter) {
    return flat::out_of_range(what, "is frozen and not a parameter");
  }
  if (table.data() != nullptr) tensor.data.assign(table.data()->begin(), table.data()->end());
  COT_TRY(check_constant(tensor));
  return tensor;
}

[[gnu::noinline]] Result<OpInfo> parse_op(const model::Op& table, size_t tensors) {
  OpInfo op;
  COT_ASSIGN(op.name, flat::text(table.name(), "op name", limits::kTextBytesMax, 1));
  op.kind = static_cast<OpKind>(table.kind());
  if (to_string(op.kind) == "unknown") return flat::out_of_range(concat({"op ", op.name}), "is of an unknown kind");
  for (const auto* list : {table.inputs(), table.outputs()}) {
    if (list->size() < 1 || list->size() > limits::kOpOperandsMax) {
      return flat::out_of_range(concat({"op ", op.name}), "must have 1 to 256 inputs and outputs");
    }
    for (uint32_t index : *list) {
      if (index >= tensors && index != kNoTensor) {
        return flat::out_of_range(concat({"op ", op.name}), "refers to a tensor that does not exist");
      }
    }
  }
  op.inputs.assign(table.inputs()->begin(), table.inputs()->end());
  op.outputs.assign(table.outputs()->begin(), table.outputs()->end());
  COT_TRY(flat::parse_attributes(table, op));
  return op;
}

// Every parameter inside the payload, aligned, and no two overlapping.
[[gnu::noinline]] Status check_parameters(const ModelGraph& graph, std::span<const QuantisedTensor> quantised,
                                          uint64_t payload_bytes) {
  auto next = quantised.begin();  // by tensor, ascending
  uint64_t expanded = 0;
  std::vector<SortKey> ranges;  // offset and end
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorInfo& tensor = graph.tensors[i];
    if (!has_payload(tensor.role)) continue;
    const std::string what = concat({"parameter ", tensor.name});
    const Result<uint64_t> elements = element_count(tensor.shape);
    if (!elements) return elements.error().with_context(what);
    const bool is_stored = next != quantised.end() && next->tensor == i;
    const auto floats = checked_multiply<uint64_t>(*elements, sizeof(float));
    const auto size = is_stored ? packed_bytes(*elements, next->bits) : floats;
    if (is_stored) ++next;
    const auto end = floats && size ? checked_add(tensor.payload_offset, *size) : std::nullopt;
    if (!end || *end > payload_bytes || tensor.payload_offset % limits::kParameterAlignment != 0) {
      return flat::out_of_range(what, "does not lie aligned inside the payload");
    }
    ranges.push_back({tensor.payload_offset, *end});
    expanded += std::min(*floats, kExpandedBytesMax + 1);
    if (!quantised.empty() && expanded > kExpandedBytesMax) {
      return Error(ErrorCode::too_large, concat({what, " takes the model over 16 GiB as float32"}));
    }
  }
  sort(ranges);
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].major < ranges[i - 1].minor) return flat::out_of_range("parameters", "overlap in the payload");
  }
  return {};
}

// Every activation is written by exactly one op, before any op reads it; the others are never written.
Status check_order(const ModelGraph& graph) {
  std::vector<bool> ready(graph.tensors.size());
  for (size_t i = 0; i < graph.tensors.size(); ++i) ready[i] = graph.tensors[i].role != TensorRole::activation;
  for (const OpInfo& op : graph.ops) {
    for (uint32_t index : op.inputs) {
      if (index != kNoTensor && !ready[index]) {
        return flat::out_of_range(concat({"op ", op.name}), "reads a tensor that no earlier op has written");
      }
    }
    for (uint32_t index : op.outputs) {
      if (index == kNoTensor) continue;
      if (ready[index]) return flat::out_of_range(concat({"op ", op.name}), "writes a tensor that is already written");
      ready[index] = true;
    }
  }
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (!ready[i]) return flat::out_of_range(concat({"tensor ", graph.tensors[i].name}), "is not written by any op");
  }
  if (graph.tensors[graph.output].role != TensorRole::activation) {
    return flat::out_of_range("output", "is not written by any op");
  }
  return {};
}

// The model's inputs are the tensors of that role, each once.
Status check_inputs(const ModelGraph& graph) {
  std::vector<bool> listed(graph.tensors.size());
  for (const uint32_t index : graph.inputs) {
    if (graph.tensors[index].role != TensorRole::input) return flat::out_of_range("input", "is not an input tensor");
    if (listed[index]) return flat::out_of_range("input", "is listed twice");
    listed[index] = true;
  }
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].role == TensorRole::input && !listed[i]) {
      return flat::out_of_range(concat({"tensor ", graph.tensors[i].name}), "is an input, but not the model's");
    }
  }
  return {};
}

[[gnu::noinline]] Status parse_into(const model::Model& table, ModelGraph& graph, FormsReader* reader) {
  COT_ASSIGN(graph.name, flat::text(table.name(), "model name", limits::kTextBytesMax));
  if (table.tensors()->size() > limits::kModelTensorsMax) return flat::out_of_range("model", "has too many tensors");
  if (table.ops()->size() < 1 || table.ops()->size() > limits::kModelOpsMax) {
    return flat::out_of_range("model", "must have 1 to 16384 ops");
  }
  for (const model::Tensor* tensor : *table.tensors()) {
    COT_ASSIGN(TensorInfo parsed, parse_tensor(*tensor, static_cast<uint32_t>(graph.tensors.size()), reader));
    graph.tensors.push_back(std::move(parsed));
  }
  for (const model::Op* op : *table.ops()) {
    COT_ASSIGN(OpInfo parsed, parse_op(*op, graph.tensors.size()));
    graph.ops.push_back(std::move(parsed));
  }
  if (table.inputs()->size() < 1 || table.inputs()->size() > limits::kModelInputsMax) {
    return flat::out_of_range("model", "must have 1 to 64 inputs");
  }
  graph.inputs.assign(table.inputs()->begin(), table.inputs()->end());
  graph.output = table.output();
  const auto exists = [&](uint32_t index) { return index < graph.tensors.size(); };
  if (!std::all_of(graph.inputs.begin(), graph.inputs.end(), exists) || !exists(graph.output)) {
    return flat::out_of_range("model", "has an input or output that does not exist");
  }
  if (table.properties() == nullptr) return {};
  if (table.properties()->size() > limits::kModelPropertiesMax)
    return flat::out_of_range("model", "has too many properties");
  for (const model::Property* property : *table.properties()) {
    COT_ASSIGN(std::string key, flat::text(property->key(), "property key", limits::kTextBytesMax, 1));
    COT_ASSIGN(graph.properties[key], flat::text(property->value(), "property " + key, limits::kDetailBytesMax));
  }
  return {};
}

Bytes build_head(const ModelGraph& message, const StoredForms& forms, uint64_t payload_bytes) {
  FlatBufferBuilder builder;
  std::vector<Offset<model::Tensor>> tensors;
  auto next = forms.weights.begin();
  auto grid = forms.grids.begin();
  for (const TensorInfo& tensor : message.tensors) {
    const auto name = builder.CreateString(tensor.name);
    Offset<flatbuffers::Vector<int64_t>> shape = 0;
    if (!tensor.shape.empty()) shape = builder.CreateVector(tensor.shape);
    Offset<flatbuffers::Vector<uint8_t>> data = 0;
    if (!tensor.data.empty()) data = flat::vector(builder, tensor.data);
    const bool is_integers = next != forms.weights.end() && next->tensor == tensors.size();
    const bool has_grid = grid != forms.grids.end() && grid->tensor == tensors.size();
    const auto scales = is_integers ? builder.CreateVector(next->scales) : Offset<flatbuffers::Vector<float>>(0);
    const auto axis = static_cast<uint8_t>(is_integers ? next->axis : 0);
    const auto bits = static_cast<uint8_t>(is_integers && next->bits != kInt8Bits ? next->bits : 0);
    const uint8_t type = !is_integers ? static_cast<uint8_t>(tensor.type) : bits == 0 ? kInt8 : kPacked;
    if (is_integers) ++next;
    tensors.push_back(model::CreateTensor(builder, name, static_cast<model::TensorRole>(tensor.role), shape,
                                          tensor.payload_offset, type, tensor.is_frozen, data, scales, axis,
                                          has_grid ? grid->scale : 0, has_grid ? grid->zero : int8_t{0}, bits));
    if (has_grid) ++grid;
  }
  std::vector<Offset<model::Op>> ops;
  for (const OpInfo& op : message.ops) {
    const auto name = builder.CreateString(op.name);
    const auto inputs = builder.CreateVector(op.inputs);
    const auto outputs = builder.CreateVector(op.outputs);
    const auto attributes = flat::build_attributes(builder, op);
    ops.push_back(model::CreateOp(builder, static_cast<uint8_t>(op.kind), name, inputs, outputs, attributes));
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
  const auto input_vector = builder.CreateVector(message.inputs);
  const wire::Digest32 no_seal = flat::digest(Digest());
  builder.Finish(model::CreateModel(builder, name, tensor_vector, op_vector, input_vector, message.output,
                                    property_vector, &no_seal),
                 flat::kSealed);
  return flat::finish_head(builder, FrameKind::model, payload_bytes);
}

// Everything but where the inputs' bytes are: what a header says of itself and of `payload_bytes`.
Result<ModelGraph> parse_head(const Prelude& prelude, ByteView header_bytes, FormsReader* reader) {
  if (prelude.kind != FrameKind::model) return flat::out_of_range("frame", "is not a model");
  COT_ASSIGN(const auto root, flat::Root<model::Model>::verify(header_bytes));
  ModelGraph graph;
  COT_TRY(parse_into(*root, graph, reader));
  COT_TRY(check_parameters(graph, reader == nullptr ? std::span<const QuantisedTensor>() : reader->forms.weights,
                           prelude.payload_bytes));
  COT_TRY(check_order(graph));
  COT_TRY(check_inputs(graph));
  return graph;
}

}  // namespace

Bytes encode_head(const ModelGraph& message, uint64_t payload_bytes) { return build_head(message, {}, payload_bytes); }

Bytes encode_stored_head(const ModelGraph& graph, const StoredForms& forms, uint64_t payload_bytes) {
  return build_head(graph, forms, payload_bytes);
}

Result<ModelGraph> decode_model_head(const Prelude& prelude, ByteView header_bytes) {
  return parse_head(prelude, header_bytes, nullptr);
}

Result<Decoded<ModelGraph>> decode_model(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::model));
  COT_ASSIGN(ModelGraph graph, decode_model_head(flat::prelude_of(frame), frame.header));
  return Decoded<ModelGraph>{std::move(graph), frame.payload};
}

Result<StoredModel> decode_stored_head(const Prelude& prelude, ByteView header_bytes) {
  FormsReader reader{.forms = {}, .read = read_forms};
  COT_ASSIGN(ModelGraph graph, parse_head(prelude, header_bytes, &reader));
  return StoredModel{.graph = std::move(graph), .forms = std::move(reader.forms), .payload = {}};
}

Result<StoredModel> decode_stored_model(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::model));
  COT_ASSIGN(StoredModel stored, decode_stored_head(flat::prelude_of(frame), frame.header));
  stored.payload = frame.payload;
  for (const QuantisedTensor& each : stored.forms.weights) {
    const TensorInfo& tensor = stored.graph.tensors[each.tensor];
    COT_ASSIGN(const uint64_t count, element_count(tensor.shape));
    const ByteView packed = stored.payload.subspan(tensor.payload_offset, packed_bytes(count, each.bits).value());
    if (const Status sound = check_integers(packed, each.bits, count); !sound) {
      return flat::out_of_range(concat({"tensor ", tensor.name}), sound.error().message());
    }
  }
  return stored;
}

std::vector<int16_t> stored_integers(const StoredModel& stored, const QuantisedTensor& tensor) {
  const TensorInfo& info = stored.graph.tensors[tensor.tensor];
  std::vector<int16_t> integers(*element_count(info.shape));
  const uint64_t bytes = packed_bytes(integers.size(), tensor.bits).value();
  const Status sound = unpack_integers(stored.payload.subspan(info.payload_offset, bytes), tensor.bits, integers);
  COT_ASSERT(sound.has_value());  // decode_stored_model has looked
  return integers;
}

}  // namespace coterie
