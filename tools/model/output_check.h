// What a model computes, beside what it should: outputs that another program has written, or another model's.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "model_import/weights/weight_table.h"

namespace coterie {

struct OutputCheck {
  uint64_t examples = 0;
  double difference = 0;  // the largest, of the largest value; of that at least 1
};

// `arrays` has the inputs by the names of the model's (or `input`, where there is one; `input_0`, `input_1` ...) and
// `output`. Images may have their channels first: they are moved. Errors: invalid_argument (an array that is missing,
// or of another shape: says which), those of read_values and of the model itself.
Result<OutputCheck> check_outputs(const Model& model, const model_import::WeightTable& arrays);

// Both models, of one graph, on the same random inputs: within [-1, 1], or indices of 0 and 1.
Result<OutputCheck> compare_on_random_inputs(const Model& model, const Model& other, uint32_t examples);

}  // namespace coterie
