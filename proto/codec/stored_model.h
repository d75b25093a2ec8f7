// Models as they are stored: some parameters as int8, each channel with a scale of its own (ADR 90). decode_model, and
// readers of before, refuse such a file by the name of the first such tensor. Private to whoever opens model files;
// what computes sees float32.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/model.h"

namespace coterie {

// In the payload: int8 in [-127, 127], as many as the tensor has elements; element e of channel c is scales[c] times
// it.
struct QuantisedTensor {
  uint32_t tensor = 0;  // index into ModelGraph::tensors, a parameter
  uint32_t axis = 0;    // the dimension that counts the channels
  std::vector<float> scales;
  friend bool operator==(const QuantisedTensor&, const QuantisedTensor&) = default;
};

struct StoredModel {
  ModelGraph graph;                        // payload offsets are those in this payload
  std::vector<QuantisedTensor> quantised;  // by tensor, ascending
  ByteView payload;
};

// Also a model without such tensors. Checks what decode_model does, and the scales: as many as there are channels,
// finite and above 0; no byte is -128. Errors: those of decode_model.
Result<StoredModel> decode_stored_model(ByteView frame);
Bytes encode_stored_head(const ModelGraph& graph, const std::vector<QuantisedTensor>& quantised,
                         uint64_t payload_bytes);

}  // namespace coterie
