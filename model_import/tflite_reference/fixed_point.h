// Multiplication of an integer by a real number, in integers alone, as TensorFlow Lite's reference kernels define it
// (tensorflow/lite/kernels/internal/common.h, quantization_util.h; the rounding twice is gemmlowp's).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace coterie::model_import {

// number = factor * 2^(shift - 31)
struct FixedPoint {
  int32_t factor = 0;
  int shift = 0;
};

inline FixedPoint fixed_point(double number) {
  FixedPoint result;
  if (number == 0 || !std::isfinite(number)) return result;
  const double fraction = std::frexp(number, &result.shift);
  int64_t factor = static_cast<int64_t>(std::round(fraction * static_cast<double>(int64_t{1} << 31)));
  if (factor == int64_t{1} << 31) {
    factor /= 2;
    ++result.shift;
  }
  if (result.shift < -31) return {};
  if (result.shift > 30) return {std::numeric_limits<int32_t>::max(), 30};
  result.factor = static_cast<int32_t>(factor);
  return result;
}

// a * b / 2^31, to the nearest; saturates at the one product that does not fit.
inline int32_t doubling_high_product(int32_t a, int32_t b) {
  if (a == b && a == std::numeric_limits<int32_t>::min()) return std::numeric_limits<int32_t>::max();
  const int64_t product = int64_t{a} * int64_t{b};
  const int64_t nudge = product >= 0 ? int64_t{1} << 30 : 1 - (int64_t{1} << 30);
  return static_cast<int32_t>((product + nudge) / (int64_t{1} << 31));
}

// x / 2^exponent, to the nearest, ties away from zero.
inline int32_t divided_by_power(int32_t x, int exponent) {
  const int64_t mask = (int64_t{1} << exponent) - 1;
  const int64_t rest = x & mask;
  const int64_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return static_cast<int32_t>((int64_t{x} >> exponent) + (rest > threshold ? 1 : 0));
}

// A sum of 32 bits, scaled: rounded after the product, and after the shift.
inline int32_t scaled(int32_t x, FixedPoint by) {
  const int left = by.shift > 0 ? by.shift : 0, right = by.shift > 0 ? 0 : -by.shift;
  const auto moved = static_cast<int32_t>(static_cast<uint32_t>(x) << left);  // what leaves 32 bits is lost, as there
  return divided_by_power(doubling_high_product(moved, by.factor), right);
}

// A sum of 64 bits (activations of int16), scaled: the factor has 16 bits, and there is one rounding.
inline int32_t scaled_wide(int64_t x, FixedPoint by) {
  const int32_t factor = by.factor < 0x7fff0000 ? (by.factor + (1 << 15)) >> 16 : 0x7fff;
  const int shift = 15 - by.shift;
  if (shift < 1) return static_cast<int32_t>(static_cast<__int128>(x) * factor * (int64_t{1} << -shift));
  const auto product = static_cast<__int128>(x) * factor + (static_cast<__int128>(1) << (shift - 1));
  return static_cast<int32_t>(product >> shift);
}

}  // namespace coterie::model_import
