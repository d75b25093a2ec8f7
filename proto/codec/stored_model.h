// Models as they are stored: some parameters as integers, each channel with a scale of its own (ADR 90, ADR 189).
// decode_model, and readers of before, refuse such a file by the name of the first such tensor. Private to whoever
// opens model files; what computes sees float32.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/model.h"

namespace coterie {

// In the payload: as many integers (stored_integers.h) as the tensor has elements; element e of channel c is scales[c]
// times it.
struct QuantisedTensor {
  uint32_t tensor = 0;  // index into ModelGraph::tensors, a parameter
  uint32_t axis = 0;    // the dimension that counts the channels
  std::vector<float> scales;
  uint32_t bits = 8;  // of an integer, in [1, 16]
  friend bool operator==(const QuantisedTensor&, const QuantisedTensor&) = default;
};

// An input or an activation that is computed as int8: real = scale * (q - zero) (ADR 113).
struct TensorGrid {
  uint32_t tensor = 0;
  float scale = 1;  // in [kGridScaleMin, kGridScaleMax]
  int8_t zero = 0;
  friend bool operator==(const TensorGrid&, const TensorGrid&) = default;
};
// No product of two of them, and no quotient, leaves the normal numbers of float32.
inline constexpr float kGridScaleMin = 0x1p-60f, kGridScaleMax = 0x1p60f;

// What of a model is not float32. Both lists are by tensor, ascending. With grids the whole model computes in int8.
struct StoredForms {
  std::vector<QuantisedTensor> weights;
  std::vector<TensorGrid> grids;
  friend bool operator==(const StoredForms&, const StoredForms&) = default;
};

struct StoredModel {
  ModelGraph graph;  // payload offsets are those in this payload
  StoredForms forms;
  ByteView payload;
};

// Also a model without such tensors. Checks what decode_model does, the integers, and the scales: as many as there are
// channels, finite and above 0; grids are of inputs and activations, their scales within the bounds. Errors: those of
// decode_model; too_large (over kExpandedBytesMax).
Result<StoredModel> decode_stored_model(ByteView frame);
Bytes encode_stored_head(const ModelGraph& graph, const StoredForms& forms, uint64_t payload_bytes);

}  // namespace coterie
