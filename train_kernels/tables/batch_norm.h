// Batch normalisation (Ioffe and Szegedy, 2015) of x[rows, channels]; for images rows = batch * height *
// width. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/shapes.h"

namespace coterie::kernels {

// `rows` rows of `channels` values; a row begins `stride` values behind the one before it. So some of the
// rows are a shape, and some of the channels are one: statistics and parameter gradients may be computed for
// any part of the channels, everything else for any part of the rows or channels, with the same results.
struct BatchNormShape {
  size_t rows, channels, stride;
};

// What a channel is normalised with: x' = (x - mean) inverse_stddev, y = scale x' + bias.
template <typename T>
struct BatchNormChannels {
  const T *mean, *inverse_stddev, *scale, *bias;
};

// The running statistics: running = (1 - momentum) running + momentum new, new being the mean and the
// variance with divisor rows - 1 (PyTorch's BatchNorm2d; Keras and ONNX call 1 - momentum momentum). With one
// row the variance stays.
template <typename T>
struct BatchNormRunning {
  T *mean, *variance;
  T momentum;
};

template <typename T>
struct BatchNormKernels {
  // mean and 1 / sqrt(variance + epsilon) of each channel, the variance with divisor rows. running may be
  // null.
  void (*batch_norm_statistics)(const BatchNormShape&, const T* x, T epsilon, T* mean, T* inverse_stddev,
                                const BatchNormRunning<T>* running);
  // 1 / sqrt(variance + epsilon), for normalising with the running statistics.
  void (*batch_norm_inverse_stddev)(size_t channels, const T* variance, T epsilon, T* inverse_stddev);
  // y may be x.
  void (*batch_norm_forward)(const BatchNormShape&, const T* x, const BatchNormChannels<T>&, Activation, T* y);

  // With an activation, dy is the gradient of its result; what it let through is recomputed from x, so y need
  // not be kept. dscale = the sum over rows of dy x', dbias = that of dy.
  void (*batch_norm_backward_parameters)(const BatchNormShape&, const T* x, const BatchNormChannels<T>&, Activation,
                                         const T* dy, T* dscale, T* dbias);
  // dx when mean and inverse_stddev are those of x over batch_rows rows (at least shape.rows), of which
  // dscale and dbias are the sums: dx = scale inverse_stddev (dy - dbias / batch_rows - x' dscale /
  // batch_rows). dx may be dy.
  void (*batch_norm_backward_input)(const BatchNormShape&, size_t batch_rows, const T* x, const BatchNormChannels<T>&,
                                    Activation, const T* dscale, const T* dbias, const T* dy, T* dx);
  // dx when they are constants: dx = scale inverse_stddev dy. x is read with an activation only. dx may be
  // dy.
  void (*batch_norm_backward_frozen)(const BatchNormShape&, const T* x, const BatchNormChannels<T>&, Activation,
                                     const T* dy, T* dx);
};

}  // namespace coterie::kernels
