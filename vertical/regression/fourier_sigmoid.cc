#include "vertical/regression/fourier_sigmoid.h"

#include <cmath>

#include "base/assert.h"
#include "vertical/regression/turn_sine.h"

namespace coterie::vertical {
namespace {

__extension__ using int128 = __int128;

constexpr int kFactorTableBits = 24;

// fourier_sigmoid of leak_refs.json: period 64, 12 terms, fitted on |z| <= 24.
constexpr std::array<double, kSigmoidTerms> kCoefficients = {
    0.43628612035975106,  0.352645814075757,   -0.2803032949748528,  0.516187966694244,
    -0.4191572565511568,  0.44971315686569147, -0.3161962829859602,  0.26452216066162687,
    -0.14932857076128014, 0.10127237441369023, -0.03763041340719041, 0.02101851397668702};

// sin^24(x) = (C(24, 12) + 2 sum_k (-1)^k C(24, 12 - k) cos 2kx) / 2^24.
constexpr int64_t kBinomialMiddle = 2704156;
constexpr std::array<int64_t, kSigmoidTerms> kBinomials = {2496144, 1961256, 1307504, 735471, 346104, 134596,
                                                           42504,   10626,   2024,    276,    24,     1};

// A margin's part of a turn of term 1: margins count modulo 2^kSigmoidPeriodBits.
uint64_t turn_of(Word margin) { return margin << (64 - kSigmoidPeriodBits - kMarginBits); }

// Nearest, halves upwards.
Word scaled_down(int128 value, int shift) {
  return static_cast<Word>(static_cast<int64_t>((value + (int128{1} << (shift - 1))) >> shift));
}

}  // namespace

const double kEdgeConstant = static_cast<double>(kBinomialMiddle) / 16777216.0;

std::array<Word, kSineWords> sines_of_mask(Word mask, int bits) {
  std::array<Word, kSineWords> sines;
  for (uint32_t k = 0; k < kSigmoidTerms; ++k) {
    const SinePair pair = sine_of_turn(turn_of(mask) * (k + 1));
    sines[2 * k] = scaled_down(pair.sine, kSineBits - bits);
    sines[2 * k + 1] = scaled_down(pair.cosine, kSineBits - bits);
  }
  return sines;
}

FourierSigmoid::FourierSigmoid(const RingPlan& plan, double scale)
    : shift_(kFactorTableBits + kSineBits - plan.factor_bits()) {
  COT_ASSERT(plan.sine_bits() < kSineBits);
  for (uint32_t k = 0; k < kSigmoidTerms; ++k) {
    factors_[k] = std::llround(kCoefficients[k] * scale * (1 << kFactorTableBits));
    edges_[k] = (k % 2 == 0 ? -2 : 2) * kBinomials[k];
  }
}

RowShares FourierSigmoid::shares(Word opened, std::span<const Word> sines) const {
  RowShares row;
  for (uint32_t k = 0; k < kSigmoidTerms; ++k) {
    const SinePair pair = sine_of_turn(turn_of(opened) * (k + 1));
    const Word sine = sines[2 * k], cosine = sines[2 * k + 1];
    row.residual += scaled_down(int128{factors_[k]} * pair.sine, shift_) * cosine +
                    scaled_down(int128{factors_[k]} * pair.cosine, shift_) * sine;
    row.edge += scaled_down(int128{edges_[k]} * pair.cosine, shift_) * cosine -
                scaled_down(int128{edges_[k]} * pair.sine, shift_) * sine;
  }
  return row;
}

}  // namespace coterie::vertical
