// Pooling by the definition. Contracts: tables/pool.h.
#pragma once

#include "train_kernels/shapes.h"
#include "train_kernels/tables/pool.h"

namespace coterie::kernels::reference {

// Calls visit(x index, y index) for every real pixel of every window, in row-major order of the window.
template <typename Visit>
void for_each_window_pixel(const Pool2dShape& s, size_t y_index, const Visit& visit) {
  const size_t c = y_index % s.channels, j = y_index / s.channels % s.out_w();
  const size_t i = y_index / s.channels / s.out_w() % s.out_h(), b = y_index / s.channels / s.out_w() / s.out_h();
  for (size_t kh = 0; kh < s.kernel_h; ++kh) {
    for (size_t kw = 0; kw < s.kernel_w; ++kw) {
      const size_t row = i * s.stride_h + kh, column = j * s.stride_w + kw;  // in the padded image
      if (row < s.pad_top || row >= s.pad_top + s.height) continue;
      if (column < s.pad_left || column >= s.pad_left + s.width) continue;
      visit(((b * s.height + row - s.pad_top) * s.width + column - s.pad_left) * s.channels + c);
    }
  }
}

inline size_t pool_inputs(const Pool2dShape& s) { return s.batch * s.height * s.width * s.channels; }
inline size_t pool_outputs(const Pool2dShape& s) { return s.batch * s.out_h() * s.out_w() * s.channels; }

template <typename T>
void max_pool2d_forward(const Pool2dShape& s, const T* x, T* y) {
  for (size_t o = 0; o < pool_outputs(s); ++o) {
    bool first = true;
    for_each_window_pixel(s, o, [&](size_t i) {
      if (first || x[i] > y[o]) y[o] = x[i];
      first = false;
    });
  }
}

template <typename T>
void max_pool2d_backward(const Pool2dShape& s, const T* x, const T* y, const T* dy, bool through_relu, T* dx) {
  for (size_t i = 0; i < pool_inputs(s); ++i) dx[i] = 0;
  for (size_t o = 0; o < pool_outputs(s); ++o) {
    bool taken = through_relu && !(y[o] > 0);
    for_each_window_pixel(s, o, [&](size_t i) {
      if (!taken && x[i] == y[o]) {
        dx[i] += dy[o];
        taken = true;
      }
    });
  }
}

template <typename T>
void average_pool2d_forward(const Pool2dShape& s, const T* x, T* y) {
  for (size_t o = 0; o < pool_outputs(s); ++o) {
    T sum = 0, count = 0;
    for_each_window_pixel(s, o, [&](size_t i) {
      sum += x[i];
      count += 1;
    });
    y[o] = sum / count;
  }
}

template <typename T>
void average_pool2d_backward(const Pool2dShape& s, const T* dy, T* dx) {
  for (size_t i = 0; i < pool_inputs(s); ++i) dx[i] = 0;
  for (size_t o = 0; o < pool_outputs(s); ++o) {
    T count = 0;
    for_each_window_pixel(s, o, [&](size_t) { count += 1; });
    for_each_window_pixel(s, o, [&](size_t i) { dx[i] += dy[o] / count; });
  }
}

template <typename T>
void fill_pool(PoolKernels<T>& table) {
  table.max_pool2d_forward = max_pool2d_forward<T>;
  table.max_pool2d_backward = max_pool2d_backward<T>;
  table.average_pool2d_forward = average_pool2d_forward<T>;
  table.average_pool2d_backward = average_pool2d_backward<T>;
}

}  // namespace coterie::kernels::reference
