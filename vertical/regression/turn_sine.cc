#include "vertical/regression/turn_sine.h"

#include <utility>

namespace coterie::vertical {
namespace {

// Taylor polynomials on [0, pi/4] at scale 2^30: the first term that is left out is below 2^-31.
int64_t times(int64_t a, int64_t b) { return (a * b + (int64_t{1} << (kSineBits - 1))) >> kSineBits; }

constexpr int64_t kOne = int64_t{1} << kSineBits;
constexpr int64_t kHalfPi = 1686629713;  // pi / 2

int64_t small_sine(int64_t x) {
  const int64_t square = times(x, x);
  int64_t sum = kOne - square / 72;
  sum = kOne - times(square, sum) / 42;
  sum = kOne - times(square, sum) / 20;
  sum = kOne - times(square, sum) / 6;
  return times(x, sum);
}

int64_t small_cosine(int64_t x) {
  const int64_t square = times(x, x);
  int64_t sum = kOne - square / 90;
  sum = kOne - times(square, sum) / 56;
  sum = kOne - times(square, sum) / 30;
  sum = kOne - times(square, sum) / 12;
  return kOne - times(square, sum) / 2;
}

}  // namespace

SinePair sine_of_turn(uint64_t turn) {
  const auto quadrant = static_cast<unsigned>(turn >> 62);
  // The quadrant's part at scale 2^30, then its angle.
  auto part = static_cast<int64_t>((turn & ((uint64_t{1} << 62) - 1)) >> (62 - kSineBits));
  const bool is_upper = part > kOne / 2;
  if (is_upper) part = kOne - part;
  const int64_t angle = times(part, kHalfPi);
  SinePair pair{.sine = small_sine(angle), .cosine = small_cosine(angle)};
  if (is_upper) std::swap(pair.sine, pair.cosine);
  switch (quadrant) {
    case 1: return {.sine = pair.cosine, .cosine = -pair.sine};
    case 2: return {.sine = -pair.sine, .cosine = -pair.cosine};
    case 3: return {.sine = -pair.cosine, .cosine = pair.sine};
    default: return pair;
  }
}

}  // namespace coterie::vertical
