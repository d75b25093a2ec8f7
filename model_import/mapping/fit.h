// How the elements of a file's tensor become those of a model's: a tensor of one shape and order as one of another.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model_import/mapping/slots.h"

namespace coterie::model_import {

// Which dimension of a weight counts its outputs: the first (PyTorch, MindSpore: [out, in, ...], images with their
// channels first) or the last (Keras, Flax, Coterie: [..., in, out], channels last). A square weight does not say.
enum class WeightLayout : uint8_t { any, out_first, in_first };

// PyTorch's and Coterie's gates are i f g o and r z n; ONNX's are i o f c and z r h, Keras's GRU has z r h.
enum class GateOrder : uint8_t { same, onnx, keras };

struct Fit {
  std::string rule;  // in words, for the report
  WeightLayout layout = WeightLayout::any;
  std::vector<uint32_t> order;  // of dimensions, of the source's shape without what is dropped; empty: as they are
  Shape seen_as;                // the source's shape when `order` is applied
  bool moves_rows = false;      // linear: its rows follow the flattened image
  GateOrder gates = GateOrder::same;
};

// What the file offers for one tensor: one tensor of it, the two biases of a recurrent layer, or one of them where
// they are one tensor.
struct Offer {
  std::string name;
  Shape shape;  // of each; with `half`, of the tensor
  size_t parts = 1;
  size_t half = 0;  // 1: the first half alone, 2: the second
};

// All ways in which it fits, at most one a layout; none: it does not.
std::vector<Fit> fits(const Slot& slot, const Offer& offer, bool is_kernel);

// The elements of the slot. `parts` and `half` are what Offer has, in the file's order.
std::vector<float> fitted(const Slot& slot, const Fit& fit, std::vector<std::vector<float>> parts, size_t half = 0);

}  // namespace coterie::model_import
