// Whether examples are numbers of the kind that a model takes: an ExampleSource gives bits, and 1.0 is no index 1.
#pragma once

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "tools/data/example_table.h"

namespace coterie {

// Input by input, as far as both have some: int32 where the model takes int32, anything else where it takes float32.
// invalid_argument names the input and says what can be done.
Status check_input_types(const Model& model, const DatasetHeader& header);

// Makes int32 of the inputs that the model takes as such, where they are float32 and all whole, as arrays and tables
// with numbers=raw have them. Returns whether one was. invalid_argument names the first example that has another.
Result<bool> take_whole_inputs(const Model& model, ExampleTable& table);

}  // namespace coterie
