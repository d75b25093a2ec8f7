// Two-dimensional convolution, NHWC. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/range.h"
#include "train_kernels/shapes.h"

namespace coterie::kernels {

template <typename T>
struct Conv2dKernels {
  // The three products of tables/dense.h for a convolution (cross-correlation, as every framework means it).
  void (*conv2d_forward)(const Conv2dShape&, const T* x, const T* w, const T* bias, Activation, T* y, void* workspace);
  void (*conv2d_backward_input)(const Conv2dShape&, const T* dy, const T* w, T* dx, void* workspace);
  void (*conv2d_backward_weights)(const Conv2dShape&, const T* x, const T* dy, T* dw, T* dbias, void* workspace);
  // The same for the rows [begin, end) of one image's y, or dx: shape.batch is 1, the pointers are to whole images, and
  // calls for parts give the bits of one call for all. Rows begin at multiples of kConv2dRowGrain; dx has parts where
  // gradient_has_rows(shape) (workspace.h).
  void (*conv2d_forward_rows)(const Conv2dShape&, Range rows, const T* x, const T* w, const T* bias, Activation, T* y,
                              void* workspace);
  void (*conv2d_backward_input_rows)(const Conv2dShape&, Range rows, const T* dy, const T* w, T* dx, void* workspace);
  // dw in parts, as dense_backward_weights_part: `taps` are rows of w read as a matrix of Conv2dShape::taps() rows
  // and `filters` columns. Whole kernel rows (kernel_w * channels / groups) cost least where there are fewer than 9
  // filters.
  void (*conv2d_backward_weights_part)(const Conv2dShape&, Range taps, const T* x, const T* dy, T* dw, T* dbias,
                                       void* workspace);
};

}  // namespace coterie::kernels
