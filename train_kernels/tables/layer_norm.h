// Layer normalisation (Ba et al., 2016) and RMS normalisation (Zhang and Sennrich, 2019) of x[rows,
// features]. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>

namespace coterie::kernels {

template <typename T>
struct LayerNormKernels {
  // x' = (x - mean) inverse_stddev with inverse_stddev = 1 / sqrt(variance + epsilon), the variance with
  // divisor features; y = scale x' + bias. mean[rows] and inverse_stddev[rows] are outputs for the backward
  // pass. A null mean means RMS normalisation: x' = x / sqrt(mean of x^2 + epsilon). scale and bias may be
  // null (1 and 0). y may be x.
  void (*layer_norm_forward)(size_t rows, size_t features, const T* x, const T* scale, const T* bias, T epsilon, T* y,
                             T* mean, T* inverse_stddev);
  // dx = inverse_stddev (g - mean of g - x' mean of g x') with g = scale dy; RMS without the mean of g. mean
  // and scale may be null as above, dx may be dy.
  void (*layer_norm_backward_input)(size_t rows, size_t features, const T* x, const T* scale, const T* mean,
                                    const T* inverse_stddev, const T* dy, T* dx);
  // dscale = the sum over rows of dy x', dbias = that of dy, unless null. Rows are `stride` values apart:
  // some of the features are a shape, too.
  void (*layer_norm_backward_parameters)(size_t rows, size_t features, size_t stride, const T* x, const T* mean,
                                         const T* inverse_stddev, const T* dy, T* dscale, T* dbias);
};

}  // namespace coterie::kernels
