// Functions of one variable, and PReLU. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>

#include "train_kernels/unary.h"

namespace coterie::kernels {

// `rows` rows of `channels` values; a row begins `stride` values behind the one before it, so that some of
// the channels are a shape, too. One slope a channel, or one for all.
struct PreluShape {
  size_t rows, channels, stride;
  bool one_slope;
};

template <typename T>
struct ActivationKernels {
  // Relative error at most 4 units in the last place where the function has no cancellation; the GELUs'
  // absolute error is within 4 units of |x|.
  void (*unary_forward)(const UnaryOp&, size_t n, const T* x, T* y);  // y may be x
  // dx = dy f'. saved: what derivative_reads names (neither: never read, may be null). dx may be dy or saved.
  void (*unary_backward)(const UnaryOp&, size_t n, const T* saved, const T* dy, T* dx);

  // y = x above 0, slope x elsewhere (He et al., 2015); at 0 the derivative is the slope.
  void (*prelu_forward)(const PreluShape&, const T* x, const T* slope, T* y);  // y may be x
  void (*prelu_backward_input)(const PreluShape&, const T* x, const T* slope, const T* dy,
                               T* dx);  // dx may be dy
  // dslope = the sum of dy x where x <= 0, over rows, or over everything with one slope.
  void (*prelu_backward_slope)(const PreluShape&, const T* x, const T* dy, T* dslope);
};

}  // namespace coterie::kernels
