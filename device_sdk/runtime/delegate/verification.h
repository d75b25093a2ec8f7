// Verified delegation: what a delegate computes, held against what our kernels compute of the same inputs.
//
// Two ways to add up n products differ by their rounding. Each result is the exact one of values that are changed a
// little, by at most n u of each, u = 2^-24 (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section
// 3.1), and nearly always by no more than about sqrt(n) u (Higham and Mary 2019, SIAM J. Sci. Comput. 41(5), A2815). So
// the part is computed kVerificationDraws more times by our kernels, with all inputs and parameters changed by sqrt(n)
// u of each, with random signs; n is how many operations an element of the part takes at most. How far its outputs
// move is what rounding explains. The bound of an output tensor is
//
//   kVerificationSafety (largest change in any draw) + kVerificationFloor sqrt(n) u (largest value)
//
// A delegate whose results differ by more computes something else. An output whose bound is over kVerificationBoundMax
// of its largest value says nothing, and is no verification.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/delegate/partition.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

inline constexpr int kVerificationDraws = 3;
inline constexpr double kVerificationSafety = 8, kVerificationFloor = 4, kVerificationBoundMax = 0.01;

// The output that came nearest to its bound.
struct VerifiedPart {
  double difference = 0;  // the largest of an element
  double bound = 0;
  double largest = 0;  // value of our kernels
};

// `inputs` and `seen` (what the delegate has written) in the order of the part's, each with its tensor's elements at
// `batch_size`. Allocates some copies of the part's parameters, and computes the part 1 + kVerificationDraws times an
// output. Errors: refused (names the op, what was expected and seen, and the bound); those of making a model of the
// part.
Result<VerifiedPart> verify_part(const Model& model, const PlannedPart& part, uint32_t batch_size,
                                 std::span<const std::span<const float>> inputs,
                                 std::span<const std::span<const float>> seen);

// The ops of the part that lead to one of its outputs, as a model of their own: the part's inputs are its. Errors:
// those of Model::load.
// `moved_to` as of rebuild_model.
Result<Model> model_of_part(const Model& model, const PlannedPart& part, uint32_t output,
                            std::vector<uint32_t>* moved_to = nullptr);

}  // namespace coterie
