// Choosing, comparing, truth values and conversions. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/tables/binary.h"

namespace coterie::kernels {

enum class Comparison : uint8_t { equal, less, less_or_equal, greater, greater_or_equal };

enum class Logical : uint8_t { conjunction, disjunction, exclusive };

// Operands 0: condition, 1: a, 2: b, 3: y (or dy).
using WhereLoops = StridedLoops<4>;

template <typename T>
struct LogicKernels {
  // y = a where the condition is not 0, else b.
  void (*where_forward)(const WhereLoops&, const int32_t* condition, const T* a, const T* b, T* y);
  // By operand 1 (a) or 2 (b), as binary_backward.
  void (*where_backward)(const WhereLoops&, size_t operand, const int32_t* condition, const T* dy, T* gradient);

  // 1 or 0. False if one of them is NaN.
  void (*compare)(Comparison, const BinaryLoops&, const T* a, const T* b, int32_t* y);
  // Combines truth values, 0 or not. y is 1 or 0.
  void (*logical)(Logical, const BinaryLoops&, const int32_t* a, const int32_t* b, int32_t* y);
  void (*logical_not)(size_t n, const int32_t* x, int32_t* y);

  // Toward zero; beyond int32 its nearest value, NaN becomes 0.
  void (*to_int32)(size_t n, const T* x, int32_t* y);
  void (*from_int32)(size_t n, const int32_t* x, T* y);
};

}  // namespace coterie::kernels
