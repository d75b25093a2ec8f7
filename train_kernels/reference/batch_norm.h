// Batch normalisation by the definition. Contracts: tables/batch_norm.h.
#pragma once

#include <algorithm>
#include <cmath>

#include "train_kernels/tables/batch_norm.h"

namespace coterie::kernels::reference {

template <typename T>
void batch_norm_statistics(const BatchNormShape& s, const T* x, T epsilon, T* mean, T* inverse_stddev,
                           const BatchNormRunning<T>* running) {
  const T rows = T(s.rows);
  for (size_t c = 0; c < s.channels; ++c) {
    T sum = 0, squares = 0;
    for (size_t r = 0; r < s.rows; ++r) sum += x[r * s.stride + c];
    mean[c] = sum / rows;
    for (size_t r = 0; r < s.rows; ++r) {
      const T difference = x[r * s.stride + c] - mean[c];
      squares += difference * difference;
    }
    inverse_stddev[c] = 1 / std::sqrt(squares / rows + epsilon);
    if (running == nullptr) continue;
    running->mean[c] += running->momentum * (mean[c] - running->mean[c]);
    if (s.rows > 1) running->variance[c] += running->momentum * (squares / (rows - 1) - running->variance[c]);
  }
}

template <typename T>
void batch_norm_inverse_stddev(size_t channels, const T* variance, T epsilon, T* inverse_stddev) {
  for (size_t c = 0; c < channels; ++c) inverse_stddev[c] = 1 / std::sqrt(variance[c] + epsilon);
}

template <typename T>
T normalised(const BatchNormChannels<T>& channels, size_t c, T x) {
  return (x - channels.mean[c]) * channels.inverse_stddev[c];
}

template <typename T>
void batch_norm_forward(const BatchNormShape& s, const T* x, const BatchNormChannels<T>& channels,
                        Activation activation, T* y) {
  for (size_t r = 0; r < s.rows; ++r) {
    for (size_t c = 0; c < s.channels; ++c) {
      const size_t at = r * s.stride + c;
      T value = channels.scale[c] * normalised(channels, c, x[at]) + channels.bias[c];
      if (activation != Activation::none && value < 0) value = 0;
      if (activation == Activation::relu6 && value > 6) value = 6;
      y[at] = value;
    }
  }
}

// dy behind the activation.
template <typename T>
T gradient_let_through(const BatchNormChannels<T>& channels, Activation activation, size_t c, T x, T dy) {
  if (activation == Activation::none) return dy;
  const T y = channels.scale[c] * normalised(channels, c, x) + channels.bias[c];
  return y > 0 && (activation == Activation::relu || y < 6) ? dy : T(0);
}

template <typename T>
void batch_norm_backward_parameters(const BatchNormShape& s, const T* x, const BatchNormChannels<T>& channels,
                                    Activation activation, const T* dy, T* dscale, T* dbias) {
  for (size_t c = 0; c < s.channels; ++c) {
    dscale[c] = dbias[c] = 0;
    for (size_t r = 0; r < s.rows; ++r) {
      const size_t at = r * s.stride + c;
      const T gradient = gradient_let_through(channels, activation, c, x[at], dy[at]);
      dscale[c] += gradient * normalised(channels, c, x[at]);
      dbias[c] += gradient;
    }
  }
}

template <typename T>
void batch_norm_backward_input(const BatchNormShape& s, size_t batch_rows, const T* x,
                               const BatchNormChannels<T>& channels, Activation activation, const T* dscale,
                               const T* dbias, const T* dy, T* dx) {
  for (size_t r = 0; r < s.rows; ++r) {
    for (size_t c = 0; c < s.channels; ++c) {
      const size_t at = r * s.stride + c;
      const T gradient = gradient_let_through(channels, activation, c, x[at], dy[at]);
      const T through_statistics = (dbias[c] + normalised(channels, c, x[at]) * dscale[c]) / T(batch_rows);
      dx[at] = channels.scale[c] * channels.inverse_stddev[c] * (gradient - through_statistics);
    }
  }
}

template <typename T>
void batch_norm_backward_frozen(const BatchNormShape& s, const T* x, const BatchNormChannels<T>& channels,
                                Activation activation, const T* dy, T* dx) {
  for (size_t r = 0; r < s.rows; ++r) {
    for (size_t c = 0; c < s.channels; ++c) {
      const size_t at = r * s.stride + c;
      const T value = activation == Activation::none ? T(0) : x[at];
      const T gradient = gradient_let_through(channels, activation, c, value, dy[at]);
      dx[at] = channels.scale[c] * channels.inverse_stddev[c] * gradient;
    }
  }
}

template <typename T>
void fill_batch_norm(BatchNormKernels<T>& table) {
  table.batch_norm_statistics = batch_norm_statistics<T>;
  table.batch_norm_inverse_stddev = batch_norm_inverse_stddev<T>;
  table.batch_norm_forward = batch_norm_forward<T>;
  table.batch_norm_backward_parameters = batch_norm_backward_parameters<T>;
  table.batch_norm_backward_input = batch_norm_backward_input<T>;
  table.batch_norm_backward_frozen = batch_norm_backward_frozen<T>;
}

}  // namespace coterie::kernels::reference
