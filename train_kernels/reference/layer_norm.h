// Layer and RMS normalisation by the definition. Contracts: tables/layer_norm.h.
#pragma once

#include <cmath>

#include "train_kernels/tables/layer_norm.h"

namespace coterie::kernels::reference {

template <typename T>
void layer_norm_forward(size_t rows, size_t features, const T* x, const T* scale, const T* bias, T epsilon, T* y,
                        T* mean, T* inverse_stddev) {
  for (size_t r = 0; r < rows; ++r, x += features, y += features) {
    T sum = 0, squares = 0;
    if (mean != nullptr) {
      for (size_t i = 0; i < features; ++i) sum += x[i];
      mean[r] = sum / T(features);
    }
    const T center = mean != nullptr ? mean[r] : T(0);
    for (size_t i = 0; i < features; ++i) squares += (x[i] - center) * (x[i] - center);
    inverse_stddev[r] = 1 / std::sqrt(squares / T(features) + epsilon);
    for (size_t i = 0; i < features; ++i) {
      const T value = (x[i] - center) * inverse_stddev[r];
      y[i] = (scale != nullptr ? scale[i] : T(1)) * value + (bias != nullptr ? bias[i] : T(0));
    }
  }
}

template <typename T>
void layer_norm_backward_input(size_t rows, size_t features, const T* x, const T* scale, const T* mean,
                               const T* inverse_stddev, const T* dy, T* dx) {
  for (size_t r = 0; r < rows; ++r, x += features, dy += features, dx += features) {
    const T center = mean != nullptr ? mean[r] : T(0), inverse = inverse_stddev[r];
    T sum = 0, product = 0;
    for (size_t i = 0; i < features; ++i) {
      const T gradient = (scale != nullptr ? scale[i] : T(1)) * dy[i];
      if (mean != nullptr) sum += gradient;
      product += gradient * (x[i] - center) * inverse;
    }
    for (size_t i = 0; i < features; ++i) {
      const T gradient = (scale != nullptr ? scale[i] : T(1)) * dy[i];
      dx[i] = inverse * (gradient - sum / T(features) - (x[i] - center) * inverse * product / T(features));
    }
  }
}

template <typename T>
void layer_norm_backward_parameters(size_t rows, size_t features, size_t stride, const T* x, const T* mean,
                                    const T* inverse_stddev, const T* dy, T* dscale, T* dbias) {
  for (size_t i = 0; i < features; ++i) {
    T scale_sum = 0, bias_sum = 0;
    for (size_t r = 0; r < rows; ++r) {
      const T center = mean != nullptr ? mean[r] : T(0);
      scale_sum += dy[r * stride + i] * (x[r * stride + i] - center) * inverse_stddev[r];
      bias_sum += dy[r * stride + i];
    }
    dscale[i] = scale_sum;
    if (dbias != nullptr) dbias[i] = bias_sum;
  }
}

template <typename T>
void fill_layer_norm(LayerNormKernels<T>& table) {
  table.layer_norm_forward = layer_norm_forward<T>;
  table.layer_norm_backward_input = layer_norm_backward_input<T>;
  table.layer_norm_backward_parameters = layer_norm_backward_parameters<T>;
}

}  // namespace coterie::kernels::reference
