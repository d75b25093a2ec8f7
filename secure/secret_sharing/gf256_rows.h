// Arithmetic in GF(2^8) on rows: 32 secret bytes side by side, multiplied by public numbers.
//
// In constant time: neither branches nor addresses depend on the bytes of a row. (They may depend on the numbers.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace coterie::gf256 {

inline constexpr size_t kRowBytes = 32;

// One way to compute; all give the same bytes.
struct RowKernels {
  const char* name;
  // shares[i] = sum of coefficients[k] * (i + 1)^k: a polynomial a column, at x = 1, 2, 3 ... Both are whole rows, one
  // behind the other: at least one coefficient, at most 255 shares.
  void (*evaluate)(std::span<const uint8_t> coefficients, std::span<uint8_t> shares);
  // sum = sum of numbers[i] * rows[i], as many of each.
  void (*combine)(std::span<const uint8_t> numbers, const uint8_t* const* rows, uint8_t* sum);
};

// Any CPU, without tables: the oracle of the others.
const RowKernels& portable_row_kernels();
// GFNI where this CPU has it.
const RowKernels& row_kernels();

}  // namespace coterie::gf256
