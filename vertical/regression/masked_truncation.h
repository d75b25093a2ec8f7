// Truncation of a shared number |x| < 2^62 by kTruncatedBits, exact but for the last place: floor(x / 2^24) or one
// more. Without a dealer two parties can only shift their shares, and are off by 2^40 with a probability that is not
// small enough for a training's millions of numbers.
//
// The dealer draws a mask of 64 bits in two shares, and shares its 63 low bits shifted down and its top bit; the
// parties open x + 2^62 + mask, which is uniform. The top bit says whether the low bits carried:
// D. Escudero, S. Ghosh, M. Keller, R. Rachuri, P. Scholl, Improved Primitives for MPC over Mixed Arithmetic-Binary
// Circuits (CRYPTO 2020), section 4.
#pragma once

#include "vertical/regression/ring_plan.h"

namespace coterie::vertical {

constexpr Word kTopBit = Word{1} << 63;
constexpr size_t kTruncationWords = 2;  // that are dealt for a number

struct TruncationShare {
  Word high = 0;  // of (mask without its top bit) >> kTruncatedBits
  Word top = 0;   // of the mask's top bit
};

inline TruncationShare truncation_of_mask(Word mask) {
  return {.high = (mask & ~kTopBit) >> kTruncatedBits, .top = mask >> 63};
}

// One party's share of the truncated number. `opened` is x + mask; `is_first` of one of the two.
inline Word truncated_share(Word opened, const TruncationShare& dealt, bool is_first) {
  constexpr Word kOffset = Word{1} << 62;
  const Word shifted = opened + kOffset;
  const Word top = shifted >> 63;
  const Word carry = dealt.top - 2 * top * dealt.top + (is_first ? top : 0);
  const Word open_part = is_first ? ((shifted & ~kTopBit) >> kTruncatedBits) - (kOffset >> kTruncatedBits) : 0;
  return open_part - dealt.high + (carry << (63 - kTruncatedBits));
}

}  // namespace coterie::vertical
