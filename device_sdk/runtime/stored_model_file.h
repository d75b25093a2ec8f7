// Model files whose weights are stored as integers, int8 (ADR 90) or others (stored_weights.h). Whoever opens a model
// file expands it first; what is loaded, run and trained is the float32 model that it stands for.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "proto/codec/stored_model.h"

namespace coterie {

struct Int8Weights {
  QuantisedTensor form;        // of 8 bits at most
  std::vector<int8_t> values;  // in [-127, 127], in the order of the tensor
};

// The channel of each element: its index along `axis`.
std::vector<uint32_t> channels_of(const Shape& shape, uint32_t axis);

// The float32 file, sealed as the stored one is; one without integers comes back as it is, and so does what is no model
// file (Model::load says so). Allocates kExpandedBytesMax, half a tensor and the header at most. Errors: those of
// decode_stored_model; invalid_argument where the model computes in int8 (it has grids): as float32 it would differ.
Result<Bytes> expand_model(Bytes file);
// The sealed float32 file that a decoded one stands for, also where it computes in int8: the model that it was rounded
// from. Its weights are scale * value, rounded once.
Bytes expanded_file(const StoredModel& stored);

// What refuses a model that computes in int8, saying what to do: invalid_argument.
Error float32_alone();
// Whether it is a model file with grids, for device_sdk/runtime/int8. False for whatever is broken.
bool computes_in_int8(ByteView file);

// The model with these parameters as int8, sorted by tensor; the others stay float32. Sealed. For all of them
// expand_model gives scale * value, rounded once. With grids, sorted by tensor, it computes in int8.
Bytes store_as_int8(const Model& model, const std::vector<Int8Weights>& weights,
                    const std::vector<TensorGrid>& grids = {});

}  // namespace coterie
