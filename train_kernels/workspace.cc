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
  return s.groups == 1 && s.dilation_w == 1 ? std::clamp<size_t>(kJoinedMax / s.filters, 1, s.out_w()) : 1;
}

size_t widened_taps_max(const Conv2dShape& s) {
  return s.taps() + s.kernel_h * (pixels_joined_max(s) - 1) * s.stride_w * s.channels;
}

void take_widened(const Conv2dShape& s, Scratch& scratch) {
  if (pixels_joined_max(s) == 1) return;
  scratch.take<float>(widened_taps_max(s) * kJoinedMax);
  scratch.take<float>(kJoinedMax);
}

size_t winograd_workspace(const Conv2dShape& s, size_t outputs) {
  const WinogradTiles tiles(s, outputs);
  Scratch scratch(nullptr);
  for (const size_t channels : {s.channels, s.filters})
    scratch.take<float>(tiles.positions * (tiles.held(s) * channels + 16));
  take_padded_images(tiles.bordered(s), tiles.images(s), scratch);
  return scratch.used();
}

size_t fft_workspace(const Conv2dShape& s) {
  const FftTiles tiles(s, fft_size(s));
  Scratch scratch(nullptr);
  scratch.take<float>(2 * tiles.size * kLanesMax);
  scratch.take<float>(4 * tiles.size * kLanesMax);
  scratch.take<float>(tiles.frequencies * (2 * tiles.size + 1) * kLanesMax);
  if (s.is_depthwise()) {
    scratch.take<float>(tiles.positions() * 2 * kLanesMax);
    return scratch.used();
  }
  const size_t at_once = tiles.at_once(s);
  scratch.take<float>(tiles.positions() * (packed_b_floats_max(2 * s.channels, s.filters) + 16));
  scratch.take<float>(tiles.positions() * (at_once * 3 * s.channels + 16));
  scratch.take<float>(tiles.positions() * (at_once * 2 * s.filters + 16));
  scratch.take<int32_t>(2 * at_once);
  return scratch.used();
}

// The taps of every column (simd/depthwise_inl.h).
size_t depthwise_workspace(size_t columns) {
  Scratch scratch(nullptr);
  scratch.take<ColumnTaps>(columns);
  return scratch.used();
}

size_t winograd_weight_floats(const Conv2dShape& s, size_t outputs) {
  return WinogradTiles(s, outputs).positions * packed_b_floats_max(s.channels, s.filters);
}

// A direct convolution, beside what its weights take.
size_t patches_workspace(const Conv2dShape& s) {
  Scratch scratch(nullptr);
  const size_t images = images_at_once(s);
  scratch.take<int32_t>(s.out_h() * s.out_w() * images);
  scratch.take<int32_t>(s.kernel_h * s.kernel_w);
  take_padded_images(s, images, scratch);
  take_widened(s, scratch);
  return scratch.used();
}

size_t output_pixels(const Conv2dShape& s) { return s.batch * s.out_h() * s.out_w(); }

bool is_direct(const Conv2dShape& s) { return conv2d_algorithm(s) == Conv2dAlgorithm::direct; }

// Up to so many columns are one panel, read as they lie, wherever vectors have four lanes or more.
constexpr size_t kOnePanel = 12;

}  // namespace

size_t dense_forward_prepared_bytes(const DenseShape& s) {
  return s.out <= kOnePanel ? 0 : packed_b_floats_max(s.in, s.out) * sizeof(float);
}

size_t dense_backward_input_prepared_bytes(const DenseShape& s) {
  return packed_b_floats_max(s.out, s.in) * sizeof(float);
}

size_t conv2d_forward_prepared_bytes(const Conv2dShape& s) {
  if (s.is_depthwise() || fft_pays(s)) return 0;
  if (s.is_pointwise()) return dense_forward_prepared_bytes(s.as_dense());
  if (const size_t outputs = winograd_outputs(conv2d_algorithm(s)); outputs != 0)
    return winograd_weight_floats(s, outputs) * sizeof(float);
  return s.groups * dense_forward_prepared_bytes({s.batch, s.taps(), s.filters / s.groups});
}

size_t conv2d_backward_input_prepared_bytes(const Conv2dShape& s) {
  if (s.is_depthwise() || gradient_is_fft(s)) return 0;
  if (s.is_pointwise()) return dense_backward_input_prepared_bytes(s.as_dense());
  if (!gradient_is_convolution(s)) return s.filters * s.taps() * sizeof(float);
  // dx is a convolution of dy [N, OH, OW, F] with the taps turned round, where channels and filters have changed
  // places.
  const Conv2dShape turned = convolution_of_gradient(s);
  if (const size_t outputs = winograd_outputs(conv2d_algorithm(turned)); outputs != 0)
    return winograd_weight_floats(turned, outputs) * sizeof(float);
  return s.groups * packed_b_floats_max(turned.taps(), turned.filters / s.groups) * sizeof(float);
}

bool prepares_dense_forward(const DenseShape& s) {
  return s.batch >= kPackedRowsMin && dense_forward_prepared_bytes(s) != 0;
}

bool prepares_dense_backward_input(const DenseShape& s) { return s.batch > kPanelwiseRows; }

bool prepares_conv2d_forward(const Conv2dShape& s) {
  if (conv2d_forward_prepared_bytes(s) == 0) return false;
  return winograd_outputs(conv2d_algorithm(s)) != 0 || output_pixels(s) >= kPackedRowsMin;
}

bool prepared_replaces_forward(const Conv2dShape& s) { return winograd_outputs(conv2d_algorithm(s)) != 0; }

bool prepares_conv2d_backward_input(const Conv2dShape& s) {
  if (conv2d_backward_input_prepared_bytes(s) == 0) return false;
  return !conv2d_backward_input_has_columns(s) || s.batch * s.height * s.width > kPanelwiseRows;
}

bool conv2d_forward_has_columns(const Conv2dShape& s) {
  return s.is_pointwise() || (is_direct(s) && s.groups == 1 && s.filters > kLanesMax);
}

bool conv2d_backward_input_has_columns(const Conv2dShape& s) {
  return s.is_pointwise() || (gradient_is_convolution(s) && s.groups == 1 && is_direct(convolution_of_gradient(s)));
}

size_t dense_forward_workspace(const DenseShape& s) {
  Scratch scratch(nullptr);
  if (!prepares_dense_forward(s)) scratch.take<float>(packed_if_read_often(s.batch, s.in, s.out));
  scratch.take<float>(packed_a_floats(s.batch, s.in));
  return scratch.used();
}

size_t dense_backward_input_workspace(const DenseShape& s) {
  Scratch scratch(nullptr);
  const size_t rows = s.batch < kPackedRowsMin ? 0 : packed_a_floats(s.batch, s.out);
  scratch.take<float>(prepares_dense_backward_input(s) ? rows : std::max(rows, s.out * kPanelMax));
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
  if (fft_pays(s)) return fft_workspace(s);
  if (s.is_depthwise()) return depthwise_workspace(s.out_w());
  if (s.is_pointwise()) return dense_forward_workspace(s.as_dense());
  if (const size_t outputs = winograd_outputs(conv2d_algorithm(s)); outputs != 0) return winograd_workspace(s, outputs);
  const size_t packed =
      prepares_conv2d_forward(s) ? 0 : packed_if_read_often(output_pixels(s), s.taps(), s.filters / s.groups);
  return patches_workspace(s) + packed * s.groups * sizeof(float);
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
  if (gradient_is_fft(s)) {
    Scratch turned(nullptr);
    if (!s.is_depthwise()) turned.take<float>(s.filters * s.taps());
    return turned.used() + fft_workspace(convolution_of_gradient(s));
  }
  if (s.is_depthwise()) return depthwise_workspace(s.width);
  if (s.is_pointwise()) return dense_backward_input_workspace(s.as_dense());
  if (gradient_is_convolution(s)) {
    const Conv2dShape turned = convolution_of_gradient(s);
    if (const size_t outputs = winograd_outputs(conv2d_algorithm(turned)); outputs != 0)
      return winograd_workspace(turned, outputs);
    const size_t panel = prepares_conv2d_backward_input(s) ? 0 : turned.taps() * kPanelMax;
    return patches_workspace(turned) + panel * sizeof(float);
  }
  Scratch scratch(nullptr);
  scratch.take<int32_t>(s.out_h() * s.out_w());
  scratch.take<int32_t>(s.out_h() * s.out_w());
  scratch.take<int32_t>(s.kernel_h * s.kernel_w);
  take_padded_images(s, 1, scratch);
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
