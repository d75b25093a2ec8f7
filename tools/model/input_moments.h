// Which products of its inputs a dense layer or a convolution sees, on average over examples: by them it can be told
// what an error in a weight costs, and which other weights can make up for it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

// Layers whose outputs read more inputs have none: a matrix of 8 MiB, and the time of ten billion multiplications.
inline constexpr size_t kMomentRowsMax = 1024;
// Nor have convolutions whose matrices have more values, all groups together: 32 MiB. A file of one depthwise layer
// with large kernels would otherwise ask for thousands of times its own size.
inline constexpr size_t kMomentValuesMax = size_t{4} << 20;
// What is looked at of all examples and places of a convolution, evenly.
inline constexpr uint64_t kMomentSamplesMax = 16384;

// For each group of a convolution (a dense layer has one), a symmetric matrix [rows, rows]: the mean of x_i x_j, where
// x is what an output reads in the order of the weight's rows: [kh, kw, inputs of the group], or the inputs.
struct InputMoments {
  size_t groups = 1, rows = 0;
  std::vector<double> values;  // [groups, rows, rows]
};

// The dense layer or convolution that reads the weight, if nobody else does and the model itself writes nothing there;
// null: there is none.
const OpInfo* sole_reader(const ModelGraph& graph, uint32_t weight);

// The moments for the weight of `op`, which is sole_reader's; none: it reads more than kMomentRowsMax inputs, it has
// more than kMomentValuesMax moments, or what leads to it is no model by itself. An example has `target_elements`
// targets, which are not looked at. Errors: those of the source; invalid_argument (no examples).
Result<std::optional<InputMoments>> input_moments(const Model& model, const OpInfo& op, ExampleSource& examples,
                                                  uint64_t target_elements);

}  // namespace coterie
