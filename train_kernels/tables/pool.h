// Pooling over windows of an image, NHWC. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/shapes.h"

namespace coterie::kernels {

template <typename T>
struct PoolKernels {
  // Padding counts as minus infinity; the gradient goes to the first of equal values. With through_relu, x is the
  // output of a ReLU that only this pool reads, and dx is the gradient of the ReLU's input.
  void (*max_pool2d_forward)(const Pool2dShape&, const T* x, T* y);
  void (*max_pool2d_backward)(const Pool2dShape&, const T* x, const T* y, const T* dy, bool through_relu, T* dx);
  // The mean of each window: of its real pixels, or with count_padding of all but those of ceil_h and ceil_w.
  void (*average_pool2d_forward)(const Pool2dShape&, const T* x, T* y);
  void (*average_pool2d_backward)(const Pool2dShape&, const T* dy, T* dx);
  // The same over adaptive windows.
  void (*adaptive_max_pool2d_forward)(const AdaptivePool2dShape&, const T* x, T* y);
  void (*adaptive_max_pool2d_backward)(const AdaptivePool2dShape&, const T* x, const T* y, const T* dy,
                                       bool through_relu, T* dx);
  void (*adaptive_average_pool2d_forward)(const AdaptivePool2dShape&, const T* x, T* y);
  void (*adaptive_average_pool2d_backward)(const AdaptivePool2dShape&, const T* dy, T* dx);
};

}  // namespace coterie::kernels
