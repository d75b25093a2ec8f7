// The sigmoid on shares, without a comparison: on |z| <= 24 it is 1/2 + sum_k a_k sin(2 pi k z / 64) up to 0.0097,
// 0.0025 in the mean (K = 12; least squares as in shared/vectors/vertical/leak_refs.py).
//
// A dealer hands out shares of sin and cos of k * mask; the parties open z - mask, which is uniform. Then
//   sin k z = sin k(z - mask) cos k mask + cos k(z - mask) sin k mask
// is a sum of public factors times shares. Factors are integers, the same at both parties to the last bit.
//
// Outside of +-32 the sum repeats itself with the wrong sign. The guard: sin^24(pi z / 64) is 1 there and below 0.03
// for |z| < 21, and a sum of the same cosines, so that the parties get shares of it for nothing.
#pragma once

#include <array>
#include <span>

#include "vertical/regression/ring_plan.h"

namespace coterie::vertical {

constexpr uint32_t kSigmoidTerms = 12;
constexpr size_t kSineWords = 2 * kSigmoidTerms;  // of a row: sin and cos of each term
constexpr int kSigmoidPeriodBits = 6;             // 64

// More of a step's rows at the edge than this, as the guard counts them, and the training ends.
constexpr double kEdgeRowsMax = 0.05;

// What the dealer shares of a mask: sin k mask, cos k mask at scale `bits`.
std::array<Word, kSineWords> sines_of_mask(Word mask, int bits);

// Shares of two things about one row, without their public parts.
struct RowShares {
  Word residual = 0;  // of scale * (sigmoid(z) - 1/2), at the plan's scale of residuals
  Word edge = 0;      // of the guard without kEdgeConstant, at the same scale
};

class FourierSigmoid {
 public:
  // `scale`: rate * 2^m / rows of the step.
  FourierSigmoid(const RingPlan& plan, double scale);

  // `opened` is z - mask, `sines` the party's shares of sines_of_mask().
  RowShares shares(Word opened, std::span<const Word> sines) const;

 private:
  std::array<int64_t, kSigmoidTerms> factors_;  // a_k * scale at scale 24
  std::array<int64_t, kSigmoidTerms> edges_;    // b_k at scale 24
  int shift_;                                   // from 24 + kSineBits to the scale of factors
};

// The guard's term without a cosine.
extern const double kEdgeConstant;

}  // namespace coterie::vertical
