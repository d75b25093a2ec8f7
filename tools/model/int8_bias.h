// The bias of a layer that computes in int8, without what rounding adds to its outputs on average (Nagel et al. 2019,
// "Data-free quantization through weight equalization and bias correction", section 4.2, with examples).
#pragma once

#include <optional>
#include <vector>

#include "device_sdk/runtime/example_source.h"
#include "tools/model/int8_choice.h"

namespace coterie {

// For the layer of weight i: its float32 bias in `exact`, and the mean of what the weights add up over the examples,
// less that of the int8 network, whose weights are rounded, and so is what they read, by all layers before. None: the
// layer has no bias of its own, or what leads to it cannot be looked at by itself.
//
// `exact` has the structure of the choice's model, its biases not corrected. Errors: those of the examples, and of
// Int8Choice::program.
Result<std::optional<std::vector<float>>> int8_corrected_bias(const Int8Choice& choice, size_t i, const Model& exact,
                                                              ExampleSource& examples, uint64_t target_elements);

}  // namespace coterie
