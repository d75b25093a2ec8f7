// Element by element. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/shapes.h"

namespace coterie::kernels {

template <typename T>
struct ElementwiseKernels {
  void (*relu_forward)(size_t n, const T* x, T* y);                 // y may be x
  void (*relu_backward)(size_t n, const T* y, const T* dy, T* dx);  // dx = dy where y > 0, else 0; dx may be dy
  void (*add)(size_t n, const T* a, const T* b, T* y);              // y may be a or b
  void (*accumulate)(size_t n, const T* x, T* y);                   // adds x to y
  // To bfloat16, the upper half of a float32, rounded to the nearest, ties to even; back without error. A NaN stays
  // one.
  void (*narrow)(size_t n, const T* x, uint16_t* y);
  void (*widen)(size_t n, const uint16_t* x, T* y);
  // The smallest and the largest; both NaN where a value is not finite. n >= 1.
  void (*least_and_largest)(size_t n, const T* x, T* least, T* largest);
  // y = scale (q - zero) with q = round(x / scale) + zero, to the nearest, ties to even, and then in [-128, 127]: what
  // int8/kernels.h makes of x and back, to the bit. `zero` is one of these. y may be x.
  void (*round_onto_grid)(size_t n, T scale, T zero, const T* x, T* y);
};

}  // namespace coterie::kernels
