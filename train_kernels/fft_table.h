// The turns of the transforms in simd/fft_inl.h, known when it is compiled: the same bits everywhere.
#pragma once

#include <cstddef>
#include <numbers>

namespace coterie::kernels {

inline constexpr size_t kFftTable = 192;  // a multiple of every size (fft_tiles.h), and of 4

// cos(2 pi i / kFftTable). By its series up to a quarter of the circle, where 12 terms are exact to the last bit of a
// float many times over; the rest by symmetry.
struct FftCosines {
  constexpr FftCosines() : at() {
    for (size_t i = 0; i < kFftTable; ++i) {
      const size_t folded = i <= kFftTable / 2 ? i : kFftTable - i;
      const bool is_negative = folded > kFftTable / 4;
      const size_t steps = is_negative ? kFftTable / 2 - folded : folded;
      const double x = 2 * std::numbers::pi * static_cast<double>(steps) / kFftTable;
      double term = 1, sum = 0;
      for (int k = 0; k < 12; ++k) {
        sum += term;
        term *= -x * x / ((2 * k + 1) * (2 * k + 2));
      }
      if (steps == kFftTable / 4) sum = 0;
      at[i] = static_cast<float>(is_negative ? -sum : sum);
    }
  }
  float at[kFftTable];
};
inline constexpr FftCosines kFftCosines;

}  // namespace coterie::kernels
