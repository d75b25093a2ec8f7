#include "device_sdk/runtime/stored_model_file.h"

#include <cstring>

#include "base/checked.h"
#include "device_sdk/runtime/op_rule.h"
#include "device_sdk/runtime/seal.h"
#include "device_sdk/runtime/stored_weights.h"
#include "proto/codec/codec.h"
#include "proto/codec/limits.h"
#include "proto/codec/stored_integers.h"
#include "proto/codec/update/bit_packing.h"

namespace coterie {

std::vector<uint32_t> channels_of(const Shape& shape, uint32_t axis) {
  const uint64_t behind = elements(shape, axis + 1, shape.size()), size = static_cast<uint64_t>(shape[axis]);
  std::vector<uint32_t> channels(elements(shape));
  for (uint64_t i = 0; i < channels.size(); ++i) channels[i] = static_cast<uint32_t>(i / behind % size);
  return channels;
}

namespace {

// The payload's places anew, in the order of the tensors: each at the next multiple of 64.
uint64_t lay_out(ModelGraph& graph, const std::vector<uint64_t>& bytes) {
  uint64_t end = 0;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (!has_payload(graph.tensors[i].role)) continue;
    graph.tensors[i].payload_offset = end;
    end = round_up<uint64_t>(end + bytes[i], limits::kParameterAlignment);
  }
  return end;
}

// As many bytes as each tensor has in a payload of floats.
std::vector<uint64_t> float_bytes(const ModelGraph& graph) {
  std::vector<uint64_t> bytes;
  for (const TensorInfo& tensor : graph.tensors) {
    bytes.push_back(has_payload(tensor.role) ? elements(tensor.shape) * sizeof(float) : 0);
  }
  return bytes;
}

bool is_model_file(ByteView file) {
  const Result<Prelude> prelude = parse_prelude(file);
  return prelude && prelude->kind == FrameKind::model;
}

}  // namespace

Bytes expanded_file(const StoredModel& stored) {
  ModelGraph graph = stored.graph;
  const uint64_t payload_bytes = lay_out(graph, float_bytes(graph));
  Bytes expanded = encode_head(graph, payload_bytes);
  const size_t begin = expanded.size();
  expanded.resize(begin + payload_bytes);
  auto next = stored.forms.weights.begin();
  for (uint32_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorInfo& tensor = graph.tensors[i];
    if (!has_payload(tensor.role)) continue;
    const uint64_t count = elements(tensor.shape);
    uint8_t* const to = expanded.data() + begin + tensor.payload_offset;
    const ByteView from = stored.payload.subspan(stored.graph.tensors[i].payload_offset);
    if (next == stored.forms.weights.end() || next->tensor != i) {
      std::memcpy(to, from.data(), count * sizeof(float));
      continue;
    }
    const uint64_t inner = elements(tensor.shape, next->axis + 1, tensor.shape.size()), channels = next->scales.size();
    const std::vector<int16_t> integers = stored_integers(stored, *next);
    for (uint64_t e = 0; e < count; ++e) {
      const float value = next->scales[e / inner % channels] * static_cast<float>(integers[e]);
      std::memcpy(to + e * sizeof(float), &value, sizeof value);
    }
    ++next;
  }
  seal(expanded);
  return expanded;
}

Error float32_alone() {
  return {
      ErrorCode::invalid_argument,
      "the model computes in int8, and this takes float32 models alone (coterie model dequantise writes the one that "
      "it was rounded from)"};
}

Result<Bytes> expand_model(Bytes file) {
  if (!is_model_file(file)) return file;
  COT_ASSIGN(const StoredModel stored, decode_stored_model(file));
  if (!stored.forms.grids.empty()) return float32_alone();
  return stored.forms.weights.empty() ? std::move(file) : expanded_file(stored);
}

bool computes_in_int8(ByteView file) {
  if (!is_model_file(file)) return false;
  const Result<StoredModel> stored = decode_stored_model(file);
  return stored && !stored->forms.grids.empty();
}

Bytes store_weights(const Model& model, const std::vector<StoredWeights>& weights,
                    const std::vector<TensorGrid>& grids) {
  ModelGraph graph = model.graph();
  std::vector<uint64_t> bytes = float_bytes(graph);
  StoredForms forms{.weights = {}, .grids = grids};
  for (const StoredWeights& each : weights) {
    bytes[each.form.tensor] = packed_bytes(each.values.size(), each.form.bits).value();
    forms.weights.push_back(each.form);
  }
  const uint64_t payload_bytes = lay_out(graph, bytes);
  Bytes file = encode_stored_head(graph, forms, payload_bytes);
  const size_t begin = file.size();
  file.resize(begin + payload_bytes);
  auto next = weights.begin();
  for (uint32_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorInfo& tensor = graph.tensors[i];
    if (!has_payload(tensor.role)) continue;
    uint8_t* const to = file.data() + begin + tensor.payload_offset;
    if (next != weights.end() && next->form.tensor == i) {
      pack_integers(next->values, next->form.bits, {to, static_cast<size_t>(bytes[i])});
      ++next;
      continue;
    }
    const uint64_t first = model.graph().tensors[i].payload_offset / sizeof(float);
    std::memcpy(to, model.parameters().data() + first, bytes[i]);
  }
  seal(file);
  return file;
}

Bytes store_as_int8(const Model& model, const std::vector<Int8Weights>& weights, const std::vector<TensorGrid>& grids) {
  std::vector<StoredWeights> stored;
  stored.reserve(weights.size());
  for (const Int8Weights& each : weights) {
    stored.push_back({.form = each.form, .values = {each.values.begin(), each.values.end()}});
  }
  return store_weights(model, stored, grids);
}

}  // namespace coterie
