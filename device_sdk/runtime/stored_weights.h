// Model files whose weights are stored as packed integers of 1 to 16 bits (ADR 189). What opens them is that of
// stored_model_file.h.
#pragma once

#include <cstdint>
#include <vector>

#include "device_sdk/runtime/stored_model_file.h"

namespace coterie {

struct StoredWeights {
  QuantisedTensor form;
  std::vector<int16_t> values;  // as stored_integers.h has them, in the order of the tensor
};

// The model with these parameters as integers of form.bits, sorted by tensor; the others stay float32. Sealed.
// expand_model gives scale * value, rounded once. With grids, sorted by tensor, it computes in int8; no form has more
// than 8 bits then.
Bytes store_weights(const Model& model, const std::vector<StoredWeights>& weights,
                    const std::vector<TensorGrid>& grids = {});

}  // namespace coterie
