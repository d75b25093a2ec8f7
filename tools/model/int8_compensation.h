// Integers that make up for each other in a network that computes in int8 (compensated_rounding.h): for what the
// rounding of activations and the layers before have changed, too.
#pragma once

#include "device_sdk/runtime/example_source.h"
#include "tools/model/int8_choice.h"

namespace coterie {

// The choice with all its weights so, one layer after the other: each by what the layers before it, rounded so, make of
// the examples. A layer that has a bias of its own gets another, without what its integers are off by on average. A
// layer whose inputs cannot be looked at (input_moments.h) is as it was, and so is one without which the choice could
// not be built.
//
// `exact` is the float32 model, of the structure of the choice's model, its biases not corrected. Errors: those of the
// examples, and of Int8Choice::program.
Result<Int8Choice> int8_compensated(Int8Choice choice, const Model& exact, ExampleSource& examples,
                                    uint64_t target_elements);

}  // namespace coterie
