// The tensors of a model that a file of weights may fill, and what each is to the op that reads it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device_sdk/runtime/model.h"
#include "model_import/mapping/weight_name.h"

namespace coterie::model_import {

// As whom an op reads it. recurrent_bias: the one bias of a layer, or both in one; recurrent_half: one of two.
// `other`: as anything that has no order of its own.
enum class SlotKind : uint8_t {
  linear,
  convolution,
  transposed_convolution,
  recurrent_weight,
  recurrent_bias,
  recurrent_half,
  other,
};

struct Slot {
  uint32_t tensor = 0;  // index into the graph
  std::string name;
  Shape shape;
  uint64_t offset = 0, count = 0;  // in Model::parameters(): floats
  SlotKind kind = SlotKind::other;
  WeightPart part = WeightPart::unknown;
  OpKind op = OpKind::identity;  // that reads it first
  size_t reader = 0;             // which op of the graph that is: its weight and its bias have the same
  // linear: its input is an image that was flattened as [height, width, channels] (a framework with channels first has
  // them flattened first); empty: it is not.
  Shape flattened = {};
};

// Parameters and states, in the order of the graph.
std::vector<Slot> slots_of(const Model& model);

}  // namespace coterie::model_import
