// Reductions over any dimensions. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/strided_loops.h"

namespace coterie::kernels {

enum class Reduction : uint8_t {
  sum,
  mean,
  max,
  min,
  l2,  // the root of the sum of squares; its gradient is 0 where it is 0
};

// Operands 0: x, 1: y, of reduction_loops: y steps by 0 in the dimensions that are reduced. x steps by 1 in
// the last dimension, y by 0 or 1. No dimension has size 0.
using ReductionLoops = StridedLoops<2>;

template <typename T>
struct ReduceKernels {
  void (*reduce_forward)(Reduction, const ReductionLoops&, const T* x, T* y);
  // sum and mean read neither x nor y, which may then be null. The gradient of max and min goes to the first
  // of equals, in x's order.
  void (*reduce_backward)(Reduction, const ReductionLoops&, const T* x, const T* y, const T* dy, T* dx);
};

}  // namespace coterie::kernels
