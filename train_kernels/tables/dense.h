// The dense layer: x[batch, in], w[in, out]. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/range.h"
#include "train_kernels/shapes.h"

namespace coterie::kernels {

template <typename T>
struct DenseKernels {
  // y = x w + bias, then the activation. bias may be null.
  void (*dense_forward)(const DenseShape&, const T* x, const T* w, const T* bias, Activation, T* y, void* workspace);
  // dx = dy w^T.
  void (*dense_backward_input)(const DenseShape&, const T* dy, const T* w, T* dx, void* workspace);
  // dw = x^T dy; dbias = column sums of dy, unless null.
  void (*dense_backward_weights)(const DenseShape&, const T* x, const T* dy, T* dw, T* dbias, void* workspace);
  // Rows [begin, end) of dw, which points to the whole: calls for parts give the bits of one call for all. Rows in
  // multiples of 8 cost least. dbias, unless null, is computed whole: pass it in one of the calls.
  void (*dense_backward_weights_part)(const DenseShape&, Range rows, const T* x, const T* dy, T* dw, T* dbias,
                                      void* workspace);
};

}  // namespace coterie::kernels
