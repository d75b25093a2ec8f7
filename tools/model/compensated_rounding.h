// Weights rounded one after the other, each so that it makes up for what those before it have lost: not the weights
// change least, but what their layer adds up over examples.
//
// For one output with weights w over inputs x, the mean of (sum_i (w_i - q_i) x_i)^2 is e^T M e with e = w - q and the
// moments M = R^T R (Cholesky). Rounding from the last row of R to the first, each w_i plus what the rows behind it ask
// for, sum_{j > i} R_ij e_j / R_ii, is Babai's nearest plane (1986), and the same integers as OPTQ's (Frantar et al.,
// "OPTQ: Accurate Quantization for Generative Pre-trained Transformers", ICLR 2023; the equality: Chen et al., "The
// Geometry of LLM Quantization: GPTQ as Babai's Nearest Plane Algorithm", 2025), whose damping is taken over: a
// hundredth of the mean of the diagonal on top of it. Inputs with the largest moments are rounded first, since their
// errors are the dearest ones and then have the most rows left to make up for them.
#pragma once

#include <span>

#include "device_sdk/runtime/stored_weights.h"
#include "tools/model/input_moments.h"

namespace coterie {

// `weights` (integers of `values` by to_integers, int8_range.h) with other integers, and for each output of a dozen
// scales around its own the one by which that mean is least. `values`: [.., rows, outputs] as a dense layer or a
// convolution has them, its channels being the last dimension. Moments that are not finite leave them as they are.
StoredWeights compensated(std::span<const float> values, StoredWeights weights, const InputMoments& moments);

}  // namespace coterie
