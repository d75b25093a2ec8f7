// A batch norm with settled statistics behind a layer with settled weights (fusion.h) is computed as part of the layer
// (Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", 2018,
// section 3.2, has the same for prediction alone). Each filter has its own factor:
//
//   factor = scale / sqrt(variance + epsilon)    w' = w factor    bias' = (bias - mean) factor + the norm's bias
//
// Both are made in the prepare phase, the factor in double. Rounded are the factor, w' and bias', each once, so that
// with u = 2^-24 the layer with w' and bias' is as far from the layer and the norm in exact arithmetic as its own sums
// are, and by 2 u of |w'| and u of |bias'| further (gamma_2 and gamma_1 of Higham, "Accuracy and Stability of Numerical
// Algorithms", 3.1).
#pragma once

#include "device_sdk/runtime/op_build.h"

namespace coterie::ops {

struct LayerWeights {
  BufferId weight, bias;  // bias: kNoBuffer if there is none
};

// What the layer multiplies with: its inputs 1 and 2, or what the norm behind makes of them. To be called once, in
// forward, by a layer whose weight ends in the filters: dense, conv2d.
LayerWeights layer_weights(OpBuild& build);
// The same for conv_transpose2d: w[kh, kw, filters / groups, channels].
LayerWeights transposed_weights(OpBuild& build, size_t groups);
// The same weight again, in backward. Weight and bias themselves need no gradient if there is a norm.
BufferId weight_in_backward(const OpBuild& build);

}  // namespace coterie::ops
