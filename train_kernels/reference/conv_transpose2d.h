// Transposed convolution by the definition. Contracts: tables/conv_transpose2d.h.
#pragma once

#include "train_kernels/reference/conv2d.h"
#include "train_kernels/tables/conv_transpose2d.h"

namespace coterie::kernels::reference {

template <typename T>
void conv_transpose2d_forward(const Conv2dShape& s, const T* x, const T* w, const T* bias, Activation activation, T* y,
                              void*) {
  const size_t count = s.batch * s.height * s.width * s.channels;
  for (size_t i = 0; i < count; ++i) y[i] = bias == nullptr ? T(0) : bias[i % s.channels];
  for_each_product(s, [&](size_t yi, size_t wi, size_t xi) { y[yi] += x[xi] * w[wi]; });
  for (size_t i = 0; i < count; ++i) y[i] = activate(y[i], activation);
}

template <typename T>
void conv_transpose2d_backward_input(const Conv2dShape& s, const T* dy, const T* w, T* dx, void*) {
  for (size_t i = 0; i < s.batch * s.out_h() * s.out_w() * s.filters; ++i) dx[i] = 0;
  for_each_product(s, [&](size_t yi, size_t wi, size_t xi) { dx[xi] += dy[yi] * w[wi]; });
}

template <typename T>
void conv_transpose2d_backward_weights(const Conv2dShape& s, const T* x, const T* dy, T* dw, T* dbias, void*) {
  for (size_t i = 0; i < s.taps() * s.filters; ++i) dw[i] = 0;
  for_each_product(s, [&](size_t yi, size_t wi, size_t xi) { dw[wi] += dy[yi] * x[xi]; });
  if (dbias == nullptr) return;
  for (size_t c = 0; c < s.channels; ++c) dbias[c] = 0;
  for (size_t i = 0; i < s.batch * s.height * s.width * s.channels; ++i) dbias[i % s.channels] += dy[i];
}

template <typename T>
void fill_conv_transpose2d(ConvTranspose2dKernels<T>& table) {
  table.conv_transpose2d_forward = conv_transpose2d_forward<T>;
  table.conv_transpose2d_backward_input = conv_transpose2d_backward_input<T>;
  table.conv_transpose2d_backward_weights = conv_transpose2d_backward_weights<T>;
}

}  // namespace coterie::kernels::reference
