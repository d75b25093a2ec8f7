// What a layer reads on average, over examples: what the rounding of its weights shifts its outputs by.
#pragma once

#include <vector>

#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

// The mean of each element of the last dimension of `tensor` (an input of the model, or what an op writes), over all
// examples and all other dimensions. An example has `target_elements` targets, which are not looked at. Errors: those
// of the source; invalid_argument (no examples); malformed (what leads to the tensor is no model by itself: its first
// dimension is not the batch, or it reads no parameter).
Result<std::vector<double>> mean_activation(const Model& model, uint32_t tensor, ExampleSource& examples,
                                            uint64_t target_elements);

}  // namespace coterie
