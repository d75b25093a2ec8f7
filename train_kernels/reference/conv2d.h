// Two-dimensional convolution by the definition. Contracts: tables/conv2d.h.
#pragma once

#include "train_kernels/reference/dense.h"
#include "train_kernels/shapes.h"
#include "train_kernels/tables/conv2d.h"

namespace coterie::kernels::reference {

// Calls visit(x index, w index, y index) for every product of the convolution, padding left out: all three passes are
// sums over the same triples.
template <typename Visit>
void for_each_product(const Conv2dShape& s, const Visit& visit) {
  const size_t oh = s.out_h(), ow = s.out_w(), cg = s.channels / s.groups, og = s.filters / s.groups;
  for (size_t b = 0; b < s.batch; ++b)
    for (size_t i = 0; i < oh; ++i)
      for (size_t j = 0; j < ow; ++j)
        for (size_t o = 0; o < s.filters; ++o)
          for (size_t kh = 0; kh < s.kernel_h; ++kh)
            for (size_t kw = 0; kw < s.kernel_w; ++kw) {
              const size_t row = i * s.stride_h + kh * s.dilation_h;  // in the padded image
              const size_t column = j * s.stride_w + kw * s.dilation_w;
              if (row < s.pad_top || row >= s.pad_top + s.height) continue;
              if (column < s.pad_left || column >= s.pad_left + s.width) continue;
              const size_t pixel = (b * s.height + row - s.pad_top) * s.width + column - s.pad_left;
              for (size_t c = 0; c < cg; ++c) {
                visit(pixel * s.channels + o / og * cg + c, ((kh * s.kernel_w + kw) * cg + c) * s.filters + o,
                      ((b * oh + i) * ow + j) * s.filters + o);
              }
            }
}

// Prepared weights are a copy of w.
template <typename T>
void conv2d_prepare_forward(const Conv2dShape& s, Range channels, const T* w, T* prepared) {
  const size_t depth = s.channels / s.groups;
  for (size_t i = 0; i < s.taps() * s.filters; ++i) {
    const size_t channel = i / s.filters % depth;
    if (channel >= channels.begin && channel < channels.end) prepared[i] = w[i];
  }
}

template <typename T>
void conv2d_prepare_backward_input(const Conv2dShape& s, Range filters, const T* w, T* prepared) {
  for (size_t i = 0; i < s.taps() * s.filters; ++i) {
    const size_t filter = i % s.filters % (s.filters / s.groups);
    if (filter >= filters.begin && filter < filters.end) prepared[i] = w[i];
  }
}

// An element of [.., pixels, channels] in one of these rows of all images, `row` pixels each, and of these channels.
struct Inside {
  Range rows, columns;
  size_t channels, row, image_rows;

  bool operator()(size_t i) const {
    const size_t at = i / channels / row % image_rows, column = i % channels;
    return at >= rows.begin && at < rows.end && column >= columns.begin && column < columns.end;
  }
};

template <typename T>
void conv2d_forward_part(const Conv2dShape& s, Range rows, Range filters, const T* x, const T* w, const T* prepared,
                         const T* bias, Activation activation, T* y, void*) {
  if (prepared != nullptr) w = prepared;
  const size_t count = s.batch * s.out_h() * s.out_w() * s.filters;
  const Inside inside{rows, filters, s.filters, s.out_w(), s.out_h()};
  for (size_t i = 0; i < count; ++i) {
    if (inside(i)) y[i] = bias == nullptr ? T(0) : bias[i % s.filters];
  }
  for_each_product(s, [&](size_t xi, size_t wi, size_t yi) {
    if (inside(yi)) y[yi] += x[xi] * w[wi];
  });
  for (size_t i = 0; i < count; ++i) {
    if (inside(i)) y[i] = activate(y[i], activation);
  }
}

template <typename T>
void conv2d_forward(const Conv2dShape& s, const T* x, const T* w, const T* prepared, const T* bias,
                    Activation activation, T* y, void*) {
  if (prepared != nullptr) w = prepared;
  const size_t count = s.batch * s.out_h() * s.out_w() * s.filters;
  for (size_t i = 0; i < count; ++i) y[i] = bias == nullptr ? T(0) : bias[i % s.filters];
  for_each_product(s, [&](size_t xi, size_t wi, size_t yi) { y[yi] += x[xi] * w[wi]; });
  for (size_t i = 0; i < count; ++i) y[i] = activate(y[i], activation);
}

template <typename T>
void conv2d_backward_input_part(const Conv2dShape& s, Range rows, Range channels, const T* dy, const T* w,
                                const T* prepared, T* dx, void*) {
  if (prepared != nullptr) w = prepared;
  const Inside inside{rows, channels, s.channels, s.width, s.height};
  for (size_t i = 0; i < s.batch * s.height * s.width * s.channels; ++i) {
    if (inside(i)) dx[i] = 0;
  }
  for_each_product(s, [&](size_t xi, size_t wi, size_t yi) {
    if (inside(xi)) dx[xi] += dy[yi] * w[wi];
  });
}

template <typename T>
void conv2d_backward_input(const Conv2dShape& s, const T* dy, const T* w, const T* prepared, T* dx, void*) {
  if (prepared != nullptr) w = prepared;
  for (size_t i = 0; i < s.batch * s.height * s.width * s.channels; ++i) dx[i] = 0;
  for_each_product(s, [&](size_t xi, size_t wi, size_t yi) { dx[xi] += dy[yi] * w[wi]; });
}

template <typename T>
void conv2d_backward_weights_part(const Conv2dShape& s, Range taps, const T* x, const T* dy, T* dw, T* dbias, void*) {
  const size_t begin = taps.begin * s.filters, end = taps.end * s.filters;
  for (size_t i = begin; i < end; ++i) dw[i] = 0;
  for_each_product(s, [&](size_t xi, size_t wi, size_t yi) {
    if (wi >= begin && wi < end) dw[wi] += dy[yi] * x[xi];
  });
  if (dbias == nullptr) return;
  for (size_t o = 0; o < s.filters; ++o) dbias[o] = 0;
  for (size_t i = 0; i < s.batch * s.out_h() * s.out_w() * s.filters; ++i) dbias[i % s.filters] += dy[i];
}

template <typename T>
void conv2d_backward_weights(const Conv2dShape& s, const T* x, const T* dy, T* dw, T* dbias, void* workspace) {
  conv2d_backward_weights_part(s, {0, s.taps()}, x, dy, dw, dbias, workspace);
}

template <typename T>
void fill_conv2d(Conv2dKernels<T>& table) {
  table.conv2d_prepare_forward = conv2d_prepare_forward<T>;
  table.conv2d_prepare_backward_input = conv2d_prepare_backward_input<T>;
  table.conv2d_forward = conv2d_forward<T>;
  table.conv2d_backward_input = conv2d_backward_input<T>;
  table.conv2d_forward_part = conv2d_forward_part<T>;
  table.conv2d_backward_input_part = conv2d_backward_input_part<T>;
  table.conv2d_backward_weights = conv2d_backward_weights<T>;
  table.conv2d_backward_weights_part = conv2d_backward_weights_part<T>;
}

}  // namespace coterie::kernels::reference
