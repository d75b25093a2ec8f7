#include "train_kernels/workspace.h"

#include <algorithm>

#include "train_kernels/conv2d_algorithm.h"
#include "train_kernels/tables/matmul.h"

namespace coterie::kernels {
namespace {

// Everything here takes what the kernels in simd/ take, in their order, on the target that needs most of it.

size_t packed_b_floats_max(size_t k, size_t n) {
  size_t most = packed_floats(k, n, panel_columns(n, 4, 1));
  for (const size_t lanes : {size_t{4}, size_t{8}, kLanesMax}) {
    most = std::max(most, packed_floats(k, n, panel_columns(n, lanes, 3)));
  }
  return std::max(most, packed_floats(k, n, panel_columns(n, 1, 4)));
}

size_t packed_if_read_often(size_t rows, size_t k, size_t n) {
  return rows < kPackedRowsMin ? 0 : packed_b_floats_max(k, n);
}

void take_padded_images(const Conv2dShape& s, size_t images, Scratch& scratch) {
  if (s.is_padded()) scratch.take<float>(s.padded_h() * s.padded_w() * s.channels * images);
}

// At most so many output pixels are computed as one (simd/widen_inl.h), on any target.
size_t pixels_joined_max(const Conv2dShape& s) {
  return s.groups == 1 && s.dilation_w == 1 ? std::clamp<size_t>(kLanesMax / s.filters, 1, s.out_w()) : 1;
}

size_t widened_taps_max(const Conv2dShape& s) {
  return s.taps() + s.kernel_h * (pixels_joined_max(s) - 1) * s.stride_w * s.channels;
}

void take_widened(const Conv2dShape& s, Scratch& scratch) {
  if (pixels_joined_max(s) == 1) return;
  scratch.take<float>(widened_taps_max(s) * kLanesMax);
  scratch.take<float>(kLanesMax);
}

size_t winograd_workspace(const Conv2dShape& s, size_t outputs) {
  const WinogradTiles tiles(s, outputs);
  const size_t at_once = tiles.at_once(s);
  Scratch scratch(nullptr);
  scratch.take<float>(tiles.positions * packed_b_floats_max(s.channels, s.filters));
  for (const size_t channels : {s.channels, s.filters})
    scratch.take<float>(tiles.positions * (at_once * channels + 16));
  take_padded_images(tiles.bordered(s), tiles.images(s), scratch);
  return scratch.used();
}

// The taps of every column (simd/depthwise_inl.h).
size_t depthwise_workspace(size_t columns) {
  Scratch scratch(nullptr);
  scratch.take<ColumnTaps>(columns);
  return scratch.used();
}

}  // namespace

size_t dense_forward_workspace(const DenseShape& s) {
  Scratch scratch(nullptr);
  scratch.take<float>(packed_if_read_often(s.batch, s.in, s.out));
  scratch.take<float>(packed_a_floats(s.batch, s.in));
  return scratch.used();
}

size_t dense_backward_input_workspace(const DenseShape& s) {
  Scratch scratch(nullptr);
  if (s.batch > kPanelwiseRows) {
    scratch.take<float>(packed_b_floats_max(s.out, s.in));
    scratch.take<float>(packed_a_floats(s.batch, s.out));
  } else {
    scratch.take<float>(s.out * kPanelMax);
  }
  return scratch.used();
}

size_t dense_backward_weights_workspace(const DenseShape& s) {
  Scratch scratch(nullptr);
  const size_t rows = std::min(s.batch, kTurnedRows);
  scratch.take<float>(packed_a_floats(s.in, rows));
  scratch.take<float>(packed_if_read_often(s.in, rows, s.out));
  return scratch.used();
}

size_t conv2d_forward_workspace(const Conv2dShape& s) {
  if (s.is_depthwise()) return depthwise_workspace(s.out_w());
  if (s.is_pointwise()) return dense_forward_workspace(s.as_dense());
  if (const size_t outputs = winograd_outputs(conv2d_algorithm(s)); outputs != 0)
    return winograd_workspace(s, outputs);
  Scratch scratch(nullptr);
  const size_t images = images_at_once(s);
  scratch.take<int32_t>(s.out_h() * s.out_w() * images);
  scratch.take<int32_t>(s.kernel_h * s.kernel_w);
  take_padded_images(s, images, scratch);
  take_widened(s, scratch);
  scratch.take<float>(packed_if_read_often(s.batch * s.out_h() * s.out_w(), s.taps(), s.filters / s.groups) *
                      s.groups);
  return scratch.used();
}

size_t conv2d_backward_weights_workspace(const Conv2dShape& s) {
  if (s.is_depthwise()) return depthwise_workspace(s.out_w());
  if (s.is_pointwise()) return dense_backward_weights_workspace(s.as_dense());
  Scratch scratch(nullptr);
  scratch.take<int32_t>(widened_taps_max(s));
  const size_t images = images_at_once(s);
  scratch.take<int32_t>(s.out_h() * images);
  take_padded_images(s, images, scratch);
  take_widened(s, scratch);
  scratch.take<float>(packed_a_floats(widened_taps_max(s), images * s.out_h() * s.out_w()));
  return scratch.used();
}

size_t conv2d_backward_input_workspace(const Conv2dShape& s) {
  if (s.is_depthwise()) return depthwise_workspace(s.width);
  if (s.is_pointwise()) return dense_backward_input_workspace(s.as_dense());
  Scratch scratch(nullptr);
  if (gradient_is_convolution(s)) {
    scratch.take<float>(s.filters * s.taps());
    return scratch.used() + conv2d_forward_workspace(convolution_of_gradient(s));
  }
  scratch.take<int32_t>(s.out_h() * s.out_w());
  scratch.take<int32_t>(s.out_h() * s.out_w());
  scratch.take<int32_t>(s.kernel_h * s.kernel_w);
  take_padded_images(s, 1, scratch);
  scratch.take<float>(s.filters * s.taps());
  return scratch.used();
}

size_t matmul_workspace(const MatmulShape& s) {
  Scratch scratch(nullptr);
  // A batch may become one product: more rows where one B serves all, a longer sum where there is one C.
  const size_t rows = s.b_stride == 0 ? s.m * s.batch : s.m, k = s.c_stride == 0 ? s.k * s.batch : s.k;
  scratch.take<float>(s.transpose_b ? packed_b_floats_max(s.k, s.n) : packed_if_read_often(rows, k, s.n));
  scratch.take<float>(packed_a_floats(rows, k));
  return scratch.used();
}

}  // namespace coterie::kernels
