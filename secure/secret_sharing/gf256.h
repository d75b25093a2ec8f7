// GF(2^8) modulo x^8 + x^4 + x^3 + x + 1 (0x11B; FIPS 197 section 4), on public numbers.
//
// The tables make time and cache depend on the operands: for the x of shares and what follows from them, never for
// shares or secrets, which gf256_rows.h multiplies. Addition and subtraction are ^.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/assert.h"

namespace coterie::gf256 {

struct Tables {
  std::array<uint8_t, 510> power{};      // of the generator 3, twice around
  std::array<uint8_t, 256> logarithm{};  // of 0: meaningless

  constexpr Tables() {
    unsigned value = 1;
    for (size_t i = 0; i < 255; ++i) {
      power[i] = power[i + 255] = static_cast<uint8_t>(value);
      logarithm[value] = static_cast<uint8_t>(i);
      value ^= value << 1;
      if (value > 0xff) value ^= 0x11b;
    }
  }
};

inline constexpr Tables kTables;

inline uint8_t multiply(uint8_t a, uint8_t b) {
  return a == 0 || b == 0 ? 0 : kTables.power[kTables.logarithm[a] + size_t{kTables.logarithm[b]}];
}

// b is not 0.
inline uint8_t divide(uint8_t a, uint8_t b) {
  COT_ASSERT(b != 0);
  return a == 0 ? 0 : kTables.power[255 + size_t{kTables.logarithm[a]} - kTables.logarithm[b]];
}

}  // namespace coterie::gf256
