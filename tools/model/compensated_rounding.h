// Weights rounded one after the other, each so that it makes up for what those before it have lost: not the weights
// change least, but what their layer adds up over examples.
//
// For one output with weights w, the network as it was adds up w^T x, and the rounded one q^T y, as the layers before
// have changed what is read (input_moments.h). With A the moments of y, C those of y and x, and l a damping that keeps
// q near w, the mean of (w^T x - q^T y)^2 + l |w - q|^2 is, but for what q does not change, (t - q)^T (A + l) (t - q)
// with the target t = (A + l)^-1 (C + l) w: w itself, where x is y.
//
// Integers are found in two steps. Rounding from the last row of R to the first, A + l = R^T R (Cholesky), each t_i
// plus what the rows behind it ask for, sum_{j > i} R_ij e_j / R_ii, is Babai's nearest plane (1986), and the same
// integers as OPTQ's (Frantar et al., "OPTQ: Accurate Quantization for Generative Pre-trained Transformers", ICLR 2023;
// the equality: Chen et al., "The Geometry of LLM Quantization: GPTQ as Babai's Nearest Plane Algorithm", 2025), whose
// damping is taken over: a hundredth of the mean of the diagonal. Inputs with the largest moments are rounded first,
// since their errors are the dearest ones and then have the most rows left to make up for them. Then integers and scale
// move by turns to where less is lost (integer_descent.h). The target follows Li et al., "GPTAQ: Efficient
// Finetuning-Free Quantization for Asymmetric Calibration", 2025.
#pragma once

#include <span>
#include <vector>

#include "device_sdk/runtime/stored_weights.h"
#include "tools/model/input_moments.h"

namespace coterie {

// `weights` (integers of `values` by to_integers, int8_range.h) with other integers, and for each output the best of a
// dozen scales around its own, fitted to them. `values`: [.., rows, outputs] as a dense layer or a convolution has
// them, its channels being the last dimension. Moments that are not finite leave them as they are.
StoredWeights compensated(std::span<const float> values, StoredWeights weights, const InputMoments& moments);

// What the rounded layer adds up for each output less than the layer as it was, on average: its bias is to be that much
// larger. `rounded`: as `values`, of the integers.
std::vector<double> mean_shortfall(std::span<const float> values, std::span<const float> rounded,
                                   const InputMoments& moments);

}  // namespace coterie
