// The training kernels: free functions on plain pointers, one set for each instruction set, chosen once.
//
// Contract of every kernel: no allocation, no exception, no global state, any alignment; outputs are written in full
// (never read, unless a comment says "adds"); inputs and outputs do not overlap unless a comment allows it; NaN passes
// through (a maximum over values of which one is NaN is any of them). The same call on the same machine gives the
// same bits. `workspace` is scratch of at least the bytes that train_kernels/workspace.h names for the call, aligned
// for float, undefined afterwards.
//
// Adding a kernel: a member here, the obvious loops in reference/, the fast version in simd/, a line in both tables, a
// test of the one against the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "train_kernels/shapes.h"

namespace coterie::kernels {

template <typename T>
struct KernelTableOf {
  std::string_view name;  // "avx512", "avx2", "sse4", "neon", "portable", "reference"

  // y = x w + bias, then the activation. bias may be null.
  void (*dense_forward)(const DenseShape&, const T* x, const T* w, const T* bias, Activation, T* y, void* workspace);
  // dx = dy w^T.
  void (*dense_backward_input)(const DenseShape&, const T* dy, const T* w, T* dx, void* workspace);
  // dw = x^T dy; dbias = column sums of dy, unless null.
  void (*dense_backward_weights)(const DenseShape&, const T* x, const T* dy, T* dw, T* dbias, void* workspace);

  // The same three for a convolution (cross-correlation, as every framework means it).
  void (*conv2d_forward)(const Conv2dShape&, const T* x, const T* w, const T* bias, Activation, T* y, void* workspace);
  void (*conv2d_backward_input)(const Conv2dShape&, const T* dy, const T* w, T* dx, void* workspace);
  void (*conv2d_backward_weights)(const Conv2dShape&, const T* x, const T* dy, T* dw, T* dbias, void* workspace);

  // Padding counts as minus infinity; the gradient goes to the first of equal values. With through_relu, x is the
  // output of a ReLU that only this pool reads, and dx is the gradient of the ReLU's input.
  void (*max_pool2d_forward)(const Pool2dShape&, const T* x, T* y);
  void (*max_pool2d_backward)(const Pool2dShape&, const T* x, const T* y, const T* dy, bool through_relu, T* dx);
  // The mean of the real pixels of each window; padding is not counted.
  void (*average_pool2d_forward)(const Pool2dShape&, const T* x, T* y);
  void (*average_pool2d_backward)(const Pool2dShape&, const T* dy, T* dx);

  void (*relu_forward)(size_t n, const T* x, T* y);                 // y may be x
  void (*relu_backward)(size_t n, const T* y, const T* dy, T* dx);  // dx = dy where y > 0, else 0; dx may be dy
  void (*add)(size_t n, const T* a, const T* b, T* y);              // y may be a or b
  void (*accumulate)(size_t n, const T* x, T* y);                   // adds x to y

  // Both losses are means over the batch; d_outputs (unless null) is the gradient of that mean. `sums` gets the sum
  // over examples added. Labels are in [0, classes); for mean squared error with one output the label is the target
  // itself, otherwise the target is one-hot, and an example's loss is the mean over its outputs.
  void (*softmax_cross_entropy)(size_t batch, size_t classes, const T* logits, const int32_t* labels, T* d_outputs,
                                LossSums* sums);
  void (*mean_squared_error)(size_t batch, size_t outputs, const T* y, const int32_t* labels, T* d_outputs,
                             LossSums* sums);

  // In-place updates of w and the optimizer's moments. v of SGD may be null when momentum is 0.
  void (*sgd_step)(size_t n, const SgdStep&, const T* g, T* w, T* v);
  void (*adam_step)(size_t n, const AdamStep&, const T* g, T* w, T* m, T* v);
};

using KernelTable = KernelTableOf<float>;

// The best table for this CPU. Same reference on every call.
const KernelTable& kernels();

// Every fast table this CPU can run, best first: tests compare each of them with the reference.
std::span<const KernelTable> supported_kernels();

// The obvious loops (reference/), the oracle. T: float, double.
template <typename T>
const KernelTableOf<T>& reference_kernels();

}  // namespace coterie::kernels
