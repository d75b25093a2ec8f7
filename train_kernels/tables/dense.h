// The dense layer: x[batch, in], w[in, out]. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/range.h"
#include "train_kernels/shapes.h"

namespace coterie::kernels {

template <typename T>
struct DenseKernels {
  // Rows `rows` of w, or its columns, as the products below read them, into `prepared`
  // (dense_forward_prepared_bytes, dense_backward_input_prepared_bytes); calls for parts give the bytes of one call for
  // all. Where parts begin is free; multiples of 16 cost least.
  void (*dense_prepare_forward)(const DenseShape&, Range rows, const T* w, T* prepared);
  void (*dense_prepare_backward_input)(const DenseShape&, Range columns, const T* w, T* prepared);
  // y = x w + bias, then the activation, of these columns of y; pointers are to the whole. bias may be null; prepared
  // is what dense_prepare_forward made for any batch, or null. Parts begin at multiples of kColumnGrain (workspace.h),
  // or anywhere if prepared is null, with the same bits.
  void (*dense_forward)(const DenseShape&, Range columns, const T* x, const T* w, const T* prepared, const T* bias,
                        Activation, T* y, void* workspace);
  // dx = dy w^T, of these columns of dx; as above.
  void (*dense_backward_input)(const DenseShape&, Range columns, const T* dy, const T* w, const T* prepared, T* dx,
                               void* workspace);
  // dw = x^T dy; dbias = column sums of dy, unless null.
  void (*dense_backward_weights)(const DenseShape&, const T* x, const T* dy, T* dw, T* dbias, void* workspace);
  // Rows [begin, end) of dw, which points to the whole: calls for parts give the bits of one call for all. Rows in
  // multiples of 8 cost least. dbias, unless null, is computed whole: pass it in one of the calls.
  void (*dense_backward_weights_part)(const DenseShape&, Range rows, const T* x, const T* dy, T* dw, T* dbias,
                                      void* workspace);
};

}  // namespace coterie::kernels
