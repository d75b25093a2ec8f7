#include "secure/dp/noise/noise_weights.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace coterie {
namespace {

// The first weight that is left out is below 2^-kTailBits of the whole: far beyond a threshold's 127 bits.
constexpr int kTailBits = 200;
constexpr double kTailNats = (kTailBits + 4) * 0.6931471805599453;  // the bounds below are good to a few bits

// variance = mantissa / 2^shift, exactly; mantissa < 2^53. shift > 0, as the variance is below 2^52.
struct Dyadic {
  uint64_t mantissa;
  int shift;
};

Dyadic dyadic(double value) {
  int exponent;
  const double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  return {static_cast<uint64_t>(std::ldexp(fraction, 53)), 53 - exponent};
}

// The smallest k with `nats(k)`, an increasing bound of -ln(P(k) / P(0)), at least kTailNats; close to it is enough.
template <typename Nats>
uint64_t last_index(Nats nats) {
  uint64_t high = 1;
  while (nats(static_cast<double>(high)) < kTailNats) high *= 2;
  uint64_t low = high / 2;
  while (low + 1 < high) {
    const uint64_t middle = (low + high) / 2;
    (nats(static_cast<double>(middle)) < kTailNats ? low : high) = middle;
  }
  return high;
}

}  // namespace

// Miller's algorithm: I_{k-1}(v) = I_{k+1}(v) + (2k / v) I_k(v), downwards from y_N = 2^256, y_{N+1} = 0. All terms are
// positive. Errors:
// * Of the start: y_k I_{k+1} - y_{k+1} I_k changes only its sign from k to k - 1, so that with q_k = y_k / I_k
//   |q_k - q_{k+1}| = q_N I_N I_{N+1} / (I_k I_{k+1}), alternating and falling towards 0: q_0 >= q_{N-1} >= q_N / 2^7
//   (as 2 N / v > 2^-6), and q_k is within 2^7 k (P(N) / P(k))^2 of q_0, relatively. As P(N) / P(0) <= 2^-200 (asserted
//   below) and N < 2^15, what this adds to a tail is at most the sum of 2^7 k P(N)^2 / P(k) <= 2^7 N^2 P(N) < 2^-163.
// * Of rounding: each y_k loses at most 1 of at least 2^256.
// * Of what is left out behind N: at most N P(N).
std::vector<WideUint> skellam_weights(double variance) {
  constexpr int kStartBits = 256;
  const Dyadic v = dyadic(variance);
  const uint64_t last = last_index([&](double k) {
                          // I_k(v) / I_0(v) is at most about exp(sqrt(k^2 + v^2) - v - k asinh(k / v)): the large-order
                          // form of I_k (DLMF 10.41.3) beside that of I_0; the assertion below has the last word.
                          return k * std::asinh(k / variance) - k * (k / (std::hypot(k, variance) + variance));
                        }) +
                        2;
  std::vector<WideUint> y(last + 1);
  y[last] = WideUint::power_of_two(kStartBits);
  for (uint64_t k = last; k > 0; --k) {
    y[k - 1] = (y[k].times(2 * k) << v.shift).divided_by(v.mantissa);
    if (k < last) y[k - 1] += y[k + 1];
  }
  COT_ASSERT(y[0].bit_width() > kStartBits + kTailBits);
  return y;
}

// weights[k] = exp(-x)^(k^2), x = 1 / (2 variance), in fixed point with kFraction bits. Each product of numbers up to 1
// adds the errors of both and one unit, so that weights[k] is within 3 k^2 e units of the truth, e < 2^27 the error of
// exp(-x): below 2^-440 of weights[0]. What is left out is below 2^-kTailBits a weight.
std::vector<WideUint> discrete_gaussian_weights(double variance) {
  constexpr int kFraction = 512;
  constexpr int kHalvings = 16;  // the series is for x / 2^16 <= 200 / 2^16
  const Dyadic v = dyadic(variance);
  const WideUint one = WideUint::power_of_two(kFraction);

  // exp(-t) for t = x / 2^kHalvings: at most 60 terms, alternating, each within 60 units; then squared kHalvings times,
  // each of which doubles the error and adds one.
  const WideUint t = WideUint::power_of_two(kFraction + v.shift - 1 - kHalvings).divided_by(v.mantissa);
  WideUint positive = one, negative, term = one;
  for (uint64_t i = 1; term.bit_width() > 0; ++i) {
    term = term.times(t, kFraction).divided_by(i);
    (i % 2 == 0 ? positive : negative) += term;
  }
  WideUint base = positive;
  base -= negative;
  for (int i = 0; i < kHalvings; ++i) base = base.times(base, kFraction);

  const WideUint base_squared = base.times(base, kFraction);
  const uint64_t last = last_index([&](double k) { return k * k / (2 * variance); }) + 2;
  std::vector<WideUint> weights;
  weights.reserve(last + 1);
  WideUint weight = one, odd_power = base;  // base^(k^2), base^(2k + 1)
  for (uint64_t k = 0; k <= last; ++k) {
    weights.push_back(weight);
    weight = weight.times(odd_power, kFraction);
    odd_power = odd_power.times(base_squared, kFraction);
  }
  return weights;
}

}  // namespace coterie
