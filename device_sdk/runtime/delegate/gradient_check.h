// A delegate's gradients, held against those of our kernels for the same inputs, parameters and output gradients.
//
// The bound is found as verification.h finds it for values: inputs, parameters and output gradients are changed by
// sqrt(n) u of each, kVerificationDraws times. But what is compared is a tensor's distance in the Euclidean norm. A
// gradient jumps where an input of a ReLU is within rounding of 0, and where two elements of a window are equal to
// rounding: one element of many may then differ by all it has. Where a draw jumps, the bound is wide, but never above
// kGradientBoundMax of the norm. Where the delegate alone jumps, other batches decide: a check that fails is made again
// on the next, kGradientTries in all, and ours count as long.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/delegate/partition.h"
#include "device_sdk/runtime/delegate/verification.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

inline constexpr int kGradientTries = 3;
inline constexpr double kGradientBoundMax = 0.05;  // of the tensor's norm: no bound is wider, whatever the draws

struct GradientCheck {
  VerifiedPart nearest;                 // of the tensor that came nearest to its bound; all three are norms
  std::string mismatch;                 // "" if all are right
  std::vector<std::vector<float>> own;  // what our kernels give
};

// `values`: the whole model's flat vector as it is now. The others in the order of the part's lists; `seen` are the
// delegate's. Errors: those of PartGradients.
Result<GradientCheck> check_gradients(const Model& model, const PlannedPart& part, uint32_t batch_size,
                                      std::span<const float> values, std::span<const std::span<const float>> inputs,
                                      std::span<const std::span<const float>> output_gradients,
                                      std::span<const std::span<const float>> seen);

}  // namespace coterie
