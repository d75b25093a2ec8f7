// Pooling by the definition. Contracts: tables/pool.h.
#pragma once

#include <algorithm>

#include "train_kernels/shapes.h"
#include "train_kernels/tables/pool.h"

namespace coterie::kernels::reference {

// The real pixels [begin, end) of window i along one axis, and how many positions of it count in a mean.
struct WindowSpan {
  size_t begin, end, counted;
};

inline WindowSpan window_span(size_t i, size_t size, size_t kernel, size_t stride, size_t pad_before, size_t pad_after,
                              bool count_padding) {
  const size_t from = i * stride;  // in the padded axis
  const size_t begin = std::max(from, pad_before) - pad_before;
  const size_t end = std::min(from + kernel, pad_before + size) - pad_before;
  const size_t padded = std::min(from + kernel, pad_before + size + pad_after) - from;
  return {begin, end, count_padding ? padded : end - begin};
}
inline WindowSpan row_span(const Pool2dShape& s, size_t i) {
  return window_span(i, s.height, s.kernel_h, s.stride_h, s.pad_top, s.pad_bottom, s.count_padding);
}
inline WindowSpan column_span(const Pool2dShape& s, size_t j) {
  return window_span(j, s.width, s.kernel_w, s.stride_w, s.pad_left, s.pad_right, s.count_padding);
}

inline WindowSpan adaptive_span(size_t i, size_t in, size_t out) {
  const size_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
  return {begin, end, end - begin};
}
inline WindowSpan row_span(const AdaptivePool2dShape& s, size_t i) { return adaptive_span(i, s.height, s.out_rows); }
inline WindowSpan column_span(const AdaptivePool2dShape& s, size_t j) {
  return adaptive_span(j, s.width, s.out_columns);
}

// Calls visit(x index) for every real pixel of the window of output y_index, in row-major order; returns how
// many positions count in a mean.
template <typename Shape, typename Visit>
size_t for_each_window_pixel(const Shape& s, size_t y_index, const Visit& visit) {
  const size_t c = y_index % s.channels, j = y_index / s.channels % s.out_w();
  const size_t i = y_index / s.channels / s.out_w() % s.out_h(), b = y_index / s.channels / s.out_w() / s.out_h();
  const WindowSpan rows = row_span(s, i), columns = column_span(s, j);
  for (size_t row = rows.begin; row < rows.end; ++row) {
    for (size_t column = columns.begin; column < columns.end; ++column) {
      visit(((b * s.height + row) * s.width + column) * s.channels + c);
    }
  }
  return rows.counted * columns.counted;
}

template <typename Shape>
size_t pool_inputs(const Shape& s) {
  return s.batch * s.height * s.width * s.channels;
}
template <typename Shape>
size_t pool_outputs(const Shape& s) {
  return s.batch * s.out_h() * s.out_w() * s.channels;
}

template <typename Shape, typename T>
void max_pool2d_forward(const Shape& s, const T* x, T* y) {
  for (size_t o = 0; o < pool_outputs(s); ++o) {
    bool first = true;
    for_each_window_pixel(s, o, [&](size_t i) {
      if (first || x[i] > y[o]) y[o] = x[i];
      first = false;
    });
  }
}

template <typename Shape, typename T>
void max_pool2d_backward(const Shape& s, const T* x, const T* y, const T* dy, bool through_relu, T* dx) {
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

template <typename Shape, typename T>
void average_pool2d_forward(const Shape& s, const T* x, T* y) {
  for (size_t o = 0; o < pool_outputs(s); ++o) {
    T sum = 0;
    const size_t counted = for_each_window_pixel(s, o, [&](size_t i) { sum += x[i]; });
    y[o] = sum / static_cast<T>(counted);
  }
}

template <typename Shape, typename T>
void average_pool2d_backward(const Shape& s, const T* dy, T* dx) {
  for (size_t i = 0; i < pool_inputs(s); ++i) dx[i] = 0;
  for (size_t o = 0; o < pool_outputs(s); ++o) {
    const size_t counted = for_each_window_pixel(s, o, [](size_t) {});
    for_each_window_pixel(s, o, [&](size_t i) { dx[i] += dy[o] / static_cast<T>(counted); });
  }
}

template <typename T>
void fill_pool(PoolKernels<T>& table) {
  table.max_pool2d_forward = max_pool2d_forward<Pool2dShape, T>;
  table.adaptive_max_pool2d_forward = max_pool2d_forward<AdaptivePool2dShape, T>;
  table.max_pool2d_backward = max_pool2d_backward<Pool2dShape, T>;
  table.adaptive_max_pool2d_backward = max_pool2d_backward<AdaptivePool2dShape, T>;
  table.average_pool2d_forward = average_pool2d_forward<Pool2dShape, T>;
  table.adaptive_average_pool2d_forward = average_pool2d_forward<AdaptivePool2dShape, T>;
  table.average_pool2d_backward = average_pool2d_backward<Pool2dShape, T>;
  table.adaptive_average_pool2d_backward = average_pool2d_backward<AdaptivePool2dShape, T>;
}

}  // namespace coterie::kernels::reference
