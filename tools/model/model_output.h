// What a model file computes for given inputs, word by word.
#pragma once

#include <string>
#include <vector>

#include "device_sdk/runtime/model.h"
#include "train_kernels/kernel_table.h"

namespace coterie {

using Words = std::vector<float>;  // or int32, by their bytes

// The output for one batch, by these kernels. One list of words an input, as the model has them. Errors: those of
// compile, too_large, invalid_argument (an index that no table has).
Result<Words> computed_output(const Model& model, const std::vector<Words>& inputs, uint32_t batch,
                              const kernels::KernelTable& kernels);

// Whether input `i` (property "input_layout"), or the output ("output_layout", 0), is an image that lies as NHWC.
bool lies_nhwc(const Model& model, const std::string& property, size_t i);

// Inputs of so many examples, always the same: numbers within [-1, 1], or indices 0 and 1, which every table has.
std::vector<Words> random_words(const Model& model, uint32_t examples);

}  // namespace coterie
