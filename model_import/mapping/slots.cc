#include "model_import/mapping/slots.h"

#include <map>

namespace coterie::model_import {
namespace {

struct Reading {
  SlotKind kind;
  WeightPart part;
};

// As whom `op` reads its operand `i`.
Reading reading_of(const OpInfo& op, size_t i) {
  using enum WeightPart;
  switch (op.kind) {
    case OpKind::dense: return {i == 1 ? SlotKind::linear : SlotKind::other, i == 1 ? weight : bias};
    case OpKind::conv2d: return {i == 1 ? SlotKind::convolution : SlotKind::other, i == 1 ? weight : bias};
    case OpKind::conv_transpose2d:
      return {i == 1 ? SlotKind::transposed_convolution : SlotKind::other, i == 1 ? weight : bias};
    case OpKind::batch_norm: return {SlotKind::other, i == 1 ? weight : i == 2 ? bias : i == 3 ? mean : variance};
    case OpKind::layer_norm:
    case OpKind::rms_norm:
    case OpKind::group_norm: return {SlotKind::other, i == 1 ? weight : bias};
    case OpKind::embedding: return {SlotKind::other, weight};
    case OpKind::lstm:
    case OpKind::gru:
    case OpKind::rnn:
      if (const size_t second = op.kind == OpKind::lstm ? 6 : 5; op.inputs.size() > second) {
        if (i == 3 || i == second) return {SlotKind::recurrent_half, i == 3 ? bias_ih : bias_hh};
      }
      if (i == 3) return {SlotKind::recurrent_bias, bias};
      return {i == 1 || i == 2 ? SlotKind::recurrent_weight : SlotKind::other, i == 1   ? weight_ih
                                                                               : i == 2 ? weight_hh
                                                                                        : unknown};
    default: return {SlotKind::other, unknown};
  }
}

bool keeps_elements(OpKind kind) {
  switch (kind) {
    case OpKind::relu:
    case OpKind::relu6:
    case OpKind::leaky_relu:
    case OpKind::sigmoid:
    case OpKind::tanh:
    case OpKind::swish:
    case OpKind::hard_swish:
    case OpKind::gelu:
    case OpKind::dropout:
    case OpKind::identity: return true;
    default: return false;
  }
}

// The image that was flattened into `tensor`, as it lies; empty if there is none, or if it was moved to channels first
// before (an imported model does that where the order of its elements matters).
Shape flattened_into(const Model& model, const std::map<uint32_t, const OpInfo*>& writers, uint32_t tensor) {
  for (auto writer = writers.find(tensor); writer != writers.end(); writer = writers.find(tensor)) {
    const OpInfo& op = *writer->second;
    tensor = op.inputs[0];
    if (keeps_elements(op.kind)) continue;
    if (op.kind != OpKind::flatten && op.kind != OpKind::reshape) return {};
    const Shape& shape = model.shape(tensor);
    if (shape.size() != 4) continue;
    const auto source = writers.find(tensor);
    if (source == writers.end() || source->second->kind == OpKind::transpose) return {};
    const bool has_order = shape[3] > 1 && shape[1] * shape[2] > 1;
    return has_order ? Shape(shape.begin() + 1, shape.end()) : Shape();
  }
  return {};
}

}  // namespace

std::vector<Slot> slots_of(const Model& model) {
  const ModelGraph& graph = model.graph();
  std::map<uint32_t, const OpInfo*> writers;
  struct Reader {
    const OpInfo* op;
    size_t operand;
  };
  std::map<uint32_t, Reader> readers;
  for (const OpInfo& op : graph.ops) {
    for (const uint32_t output : op.outputs) writers[output] = &op;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] != kNoTensor) readers.emplace(op.inputs[i], Reader{&op, i});
    }
  }
  std::vector<Slot> slots;
  for (uint32_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorInfo& tensor = graph.tensors[i];
    if (!has_payload(tensor.role)) continue;
    Slot slot{.tensor = i, .name = tensor.name, .shape = tensor.shape, .offset = tensor.payload_offset / sizeof(float)};
    slot.count = elements(tensor.shape);
    if (const auto reader = readers.find(i); reader != readers.end()) {
      const Reading reading = reading_of(*reader->second.op, reader->second.operand);
      slot.kind = reading.kind;
      slot.part = reading.part;
      slot.op = reader->second.op->kind;
      slot.reader = static_cast<size_t>(reader->second.op - graph.ops.data());
      if (slot.kind == SlotKind::linear) {
        slot.flattened = flattened_into(model, writers, reader->second.op->inputs[0]);
        // Rows of an image that each go through the layer alone are no flattened image.
        if (elements(slot.flattened) != static_cast<uint64_t>(slot.shape[0])) slot.flattened.clear();
      }
    }
    if (slot.part == WeightPart::unknown) slot.part = parse_weight_name(slot.name).part;
    slots.push_back(std::move(slot));
  }
  return slots;
}

}  // namespace coterie::model_import
