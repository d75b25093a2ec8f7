// Transposed two-dimensional convolution, NHWC. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>

#include "train_kernels/shapes.h"
#include "train_kernels/workspace.h"

namespace coterie::kernels {

// The shape is that of the matching convolution, the one whose gradient by its input this is (Dumoulin and Visin, "A
// guide to convolution arithmetic for deep learning", 4): so x is [batch, out_h, out_w, filters], y is
// [batch, height, width, channels], w is [kernel_h, kernel_w, channels / groups, filters], bias is [channels].
// output_padding of ONNX and PyTorch is the part of height and width that no kernel reaches.
template <typename T>
struct ConvTranspose2dKernels {
  void (*conv_transpose2d_forward)(const Conv2dShape&, const T* x, const T* w, const T* bias, Activation, T* y,
                                   void* workspace);
  void (*conv_transpose2d_backward_input)(const Conv2dShape&, const T* dy, const T* w, T* dx, void* workspace);
  // dbias = sums of dy over images and pixels, unless null.
  void (*conv_transpose2d_backward_weights)(const Conv2dShape&, const T* x, const T* dy, T* dw, T* dbias,
                                            void* workspace);
};

// In bytes. The weights are prepared in the call; 64 to begin the rest at a whole piece.
inline size_t conv_transpose2d_forward_workspace(const Conv2dShape& s) {
  return conv2d_backward_input_prepared_bytes(s) + 64 + conv2d_backward_input_workspace(s);
}
inline size_t conv_transpose2d_backward_input_workspace(const Conv2dShape& s) {
  return conv2d_forward_prepared_bytes(s) + 64 + conv2d_forward_workspace(s);
}
inline size_t conv_transpose2d_backward_weights_workspace(const Conv2dShape& s) {
  return conv2d_backward_weights_workspace(s);
}

}  // namespace coterie::kernels
