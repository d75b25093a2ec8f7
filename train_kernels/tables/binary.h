// Functions of two variables with broadcasting. The contract of every kernel:
// kernel_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/strided_loops.h"

namespace coterie::kernels {

// At equal operands the gradient of minimum and maximum is shared half and half (PyTorch). pow's gradient by
// its base is 0 where the exponent is 0, that by its exponent 0 where the base is 0 and the exponent not
// negative (PyTorch).
enum class Binary : uint8_t { add, sub, mul, div, pow, minimum, maximum };

// Operands 0: a, 1: b, 2: y (or dy), of broadcast_loops. In the last dimension the inputs step by 0 or 1, y
// by 1. No dimension has size 0.
using BinaryLoops = StridedLoops<3>;

template <typename T>
struct BinaryKernels {
  void (*binary_forward)(Binary, const BinaryLoops&, const T* a, const T* b, T* y);
  // The gradient by operand 0 (a) or 1 (b), in that operand's shape: dy times the derivative, summed over the
  // dimensions in which the operand was broadcast. add and sub read neither a nor b, mul only the other one:
  // these may be null.
  void (*binary_backward)(Binary, size_t operand, const BinaryLoops&, const T* a, const T* b, const T* dy, T* gradient);
};

}  // namespace coterie::kernels
