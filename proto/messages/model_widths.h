// Which values of a model a device of less width has (HeteroFL, Diao et al. 2021), from its graph alone: width r keeps
// the first ceil(r C) of the C channels of every hidden layer; inputs and outputs stay whole. Server and device ask the
// same functions, so that value i of a narrow model is the same number to both. Pure.
//
// Slices nest: what a width has, each larger one has, too. Where a value's row and column are both of the first
// channels, it is kept:
//
//   dense    w[in, out], bias[out]           in: the channels that x has left; out: those of this layer
//   conv2d   w[kh, kw, in, out], bias[out]   likewise
//
// A flattened image has its channels last: of h w C places those with i % C < kept are left. Layers whose output is the
// model's, without another layer in between, are whole there. What each channel goes through by itself passes them on:
// activations, pooling, dropout, flatten, and batch norms that are frozen; so does a sum of two operands with the same
// channels. All else has no meaning in part and is refused by name, where channels that a width cuts go into it, or
// where it has parameters of its own: convolutions in groups (depthwise), batch norms whose running statistics move
// (those of a narrow model are of other activations, and would be pooled with them), layer and group norms, recurrent
// layers, embeddings, attention, sums of cut channels and whole ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "proto/messages/model.h"
#include "proto/messages/running_statistics.h"
#include "proto/messages/width_share.h"

namespace coterie {

// ceil(width / 1e6 channels), at least 1. Precondition: width is in [1, kWholeWidth], channels below 2^40.
uint64_t kept_channels(uint64_t channels, uint32_t width);

// What is left of one dimension of a tensor: place i, if i % period < kept.
struct KeptPlaces {
  uint64_t size = 0, period = 0, kept = 0;
  bool has(uint64_t place) const { return place % period < kept; }
  uint64_t count() const { return size / period * kept; }
  friend bool operator==(const KeptPlaces&, const KeptPlaces&) = default;
};

// What is left of a tensor with a place in the payload: a value is kept if each dimension keeps it.
struct TensorSlice {
  uint32_t tensor = 0;
  std::vector<KeptPlaces> dimensions = {};  // of its shape
  friend bool operator==(const TensorSlice&, const TensorSlice&) = default;
};

// One for each parameter and state, in the order of the graph's tensors. invalid_argument names the op that has no
// meaning in part, or says that no width cuts anything of the model.
Result<std::vector<TensorSlice>> width_slices(const ModelGraph& graph, uint32_t width);

// Values of the flat vector, and the last of the widths that has them: the narrowest.
struct WidthBlock {
  ValueRange values;
  uint32_t narrowest = 0;
  friend bool operator==(const WidthBlock&, const WidthBlock&) = default;
};
// All of every parameter and state, rising; a tensor's are apart from another's. `widths` fall. Errors: as above.
Result<std::vector<WidthBlock>> width_blocks(const ModelGraph& graph, std::span<const uint32_t> widths);

// The model of a width as a graph of its own, and where its values come from: all but padding is in one piece each.
struct SlicePiece {
  uint64_t whole = 0, narrow = 0;  // first value in the flat vector of either
  uint64_t count = 0;
  friend bool operator==(const SlicePiece&, const SlicePiece&) = default;
};
struct NarrowGraph {
  ModelGraph graph;
  std::vector<SlicePiece> pieces;
  uint64_t value_count = 0;  // of its flat vector
};
Result<NarrowGraph> narrow_graph(const ModelGraph& graph, uint32_t width);

}  // namespace coterie
