// Two-dimensional convolution, NHWC. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/range.h"
#include "train_kernels/shapes.h"

namespace coterie::kernels {

template <typename T>
struct Conv2dKernels {
  // w as the products below read it - packed, turned, transformed - into `prepared` (conv2d_forward_prepared_bytes,
  // conv2d_backward_input_prepared_bytes): the rows of w of these channels of every group, or the columns of these
  // filters of every group. Calls for parts give the bytes of one call for all. Where parts begin is free; multiples
  // of 16 cost least.
  void (*conv2d_prepare_forward)(const Conv2dShape&, Range channels, const T* w, T* prepared);
  void (*conv2d_prepare_backward_input)(const Conv2dShape&, Range filters, const T* w, T* prepared);
  // The three products of tables/dense.h for a convolution (cross-correlation, as every framework means it). `prepared`
  // is what was prepared for any batch; null where prepares_conv2d_forward(shape), or prepares_conv2d_backward_input,
  // is false (workspace.h), which gives the same bits.
  void (*conv2d_forward)(const Conv2dShape&, const T* x, const T* w, const T* prepared, const T* bias, Activation, T* y,
                         void* workspace);
  void (*conv2d_backward_input)(const Conv2dShape&, const T* dy, const T* w, const T* prepared, T* dx, void* workspace);
  void (*conv2d_backward_weights)(const Conv2dShape&, const T* x, const T* dy, T* dw, T* dbias, void* workspace);
  // The same for a part of y, or dx, with the bits of one call for all; pointers are to the whole.
  //   rows [begin, end) of one image's: shape.batch is 1. They begin at multiples of kConv2dRowGrain, and cost least at
  //   those of conv2d_row_grain (conv2d_algorithm.h); dx has such parts where gradient_has_rows(shape) (workspace.h).
  //   filters, or channels of dx, of the rows: where conv2d_forward_has_columns, conv2d_backward_input_has_columns;
  //   they begin as the columns of dense_forward do.
  void (*conv2d_forward_part)(const Conv2dShape&, Range rows, Range filters, const T* x, const T* w, const T* prepared,
                              const T* bias, Activation, T* y, void* workspace);
  void (*conv2d_backward_input_part)(const Conv2dShape&, Range rows, Range channels, const T* dy, const T* w,
                                     const T* prepared, T* dx, void* workspace);
  // dw in parts, as dense_backward_weights_part: `taps` are rows of w read as a matrix of Conv2dShape::taps() rows
  // and `filters` columns. Whole kernel rows (kernel_w * channels / groups) cost least where there are fewer than 9
  // filters.
  void (*conv2d_backward_weights_part)(const Conv2dShape&, Range taps, const T* x, const T* dy, T* dw, T* dbias,
                                       void* workspace);
};

}  // namespace coterie::kernels
