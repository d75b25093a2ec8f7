// Softmax and its logarithm along the middle dimension of x[outer, axis, inner]. The contract of every
// kernel: kernel_table.h.
#pragma once

#include <cstddef>

namespace coterie::kernels {

// Any part of `outer` is a shape, too.
struct SoftmaxShape {
  size_t outer, axis, inner;
};

template <typename T>
struct SoftmaxKernels {
  // y = e^(x - max) / sum of e^(x - max); y may be x.
  void (*softmax_forward)(const SoftmaxShape&, const T* x, T* y);
  // dx = y (dy - sum of dy y); dx may be dy.
  void (*softmax_backward)(const SoftmaxShape&, const T* y, const T* dy, T* dx);
  // y = x - max - log(sum of e^(x - max)); y may be x.
  void (*log_softmax_forward)(const SoftmaxShape&, const T* x, T* y);
  // dx = dy - e^y sum of dy; dx may be dy.
  void (*log_softmax_backward)(const SoftmaxShape&, const T* y, const T* dy, T* dx);
};

}  // namespace coterie::kernels
