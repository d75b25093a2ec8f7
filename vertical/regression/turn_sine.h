// Sine and cosine of a part of a turn, in integers alone: two machines must get the same bits, or the shares that they
// multiply by them would not add up any more. libm gives no such promise.
#pragma once

#include <cstdint>

namespace coterie::vertical {

constexpr int kSineBits = 30;

struct SinePair {
  int64_t sine = 0, cosine = 0;  // at scale kSineBits; off by less than 2^-26
};

// The angle is `turn` / 2^64 of a turn.
SinePair sine_of_turn(uint64_t turn);

}  // namespace coterie::vertical
