// Convolution as matrix products over patches that are read in place. Contracts: kernel_table.h.
//
// The image is copied once into a zero border where it needs padding. Then the element of the patch matrix of pixel p
// and tap t lies at (offset of p) + (offset of t) in that image, which is exactly the form of gemm_inl.h's A:
//
//   forward  y[p, o]  = sum over t of image[p + t] w[t, o]       rows are pixels, k runs over taps
//   dW       dw[t, o] = sum over p of image[p + t] dy[p, o]      rows are taps, k runs over pixels
//   dX       dimage[p + t] += sum over o of dy[p, o] w[t, o]     rows are pixels, k runs over filters; the taps of one
//            kernel row are neighbours in the image, so a whole kernel row is added to dimage at once
//   dX with stride 1  is a forward convolution of dy with w turned half round: the sums stay in registers
//
// 3 x 3 with stride 1 and enough channels, forward and dX, is Winograd's (winograd.cc) where conv2d_algorithm.h says so.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/conv2d.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/conv2d_algorithm.h"
#include "train_kernels/simd/conv2d_inl.h"
#include "train_kernels/simd/dense_inl.h"
#include "train_kernels/simd/depthwise_inl.h"
#include "train_kernels/simd/image_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/simd/widen_inl.h"
#include "train_kernels/simd/winograd_inl.h"
#include "train_kernels/tables/conv2d.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

// `rows` of y, of one image or all of them; `images` at once.
void forward_over_patches(const Conv2dShape& s, Range rows, size_t images, const float* x, const float* w,
                          const float* bias, Activation activation, float* y, Scratch& scratch) {
  const Layout layout(s);
  const size_t pixels = layout.pixels, filters = s.filters / s.groups, first = rows.begin * s.out_w();
  const int32_t* pixel_offsets = layout.pixels_by_row(images, scratch.take<int32_t>(pixels * images));
  const int32_t* run_offsets = layout.runs(scratch.take<int32_t>(s.kernel_h * s.kernel_w));
  PaddedImage image(s, images, scratch);
  const bool pack = worth_packing(s.batch * pixels, filters);
  float* packed = pack ? scratch.take<float>(packed_b_floats(s.taps(), filters) * s.groups) : nullptr;
  for (size_t n = 0; n < s.batch; n += images) {
    const size_t some = HWY_MIN(images, s.batch - n);
    const float* base = image.padded(x + n * layout.image, some);
    for (size_t g = 0; g < s.groups; ++g) {
      const MatrixA a{base + g * layout.depth, {pixel_offsets + first, 0}, run_offsets, layout.run_count,
                      layout.run_length,       1};
      MatrixB b = plain_b(filters, w + g * filters, s.filters);
      if (pack) {
        float* to = packed + g * packed_b_floats(s.taps(), filters);
        if (n == 0) pack_b(s.taps(), filters, b.base, s.filters, to);
        b = {to, b.panel, s.taps() * b.panel, b.panel};
      }
      const MatrixC c{y + (n * pixels + first) * s.filters + g * filters, {nullptr, static_cast<ptrdiff_t>(s.filters)}};
      gemm(rows.size() * s.out_w() * some, filters, a, b, c,
           {.accumulate = false,
            .relu = activation == Activation::relu,
            .bias = bias == nullptr ? nullptr : bias + g * filters});
    }
  }
}

// A 1 x 1 convolution of some rows of one image, or of all rows.
DenseShape dense_of(const Conv2dShape& s, Range rows) {
  return {s.batch * rows.size() * s.width, s.channels, s.filters};
}

}  // namespace

void conv2d_forward_rows(const Conv2dShape& s, Range rows, const float* x, const float* w, const float* bias,
                         Activation activation, float* y, void* workspace) {
  if (s.is_depthwise()) return depthwise_forward(s, rows, x, w, bias, activation, y, workspace);
  if (s.is_pointwise()) {
    const size_t first = rows.begin * s.width;
    return dense_forward(dense_of(s, rows), x + first * s.channels, w, bias, activation, y + first * s.filters,
                         workspace);
  }
  Scratch scratch(workspace);
  if (const size_t outputs = winograd_outputs(conv2d_algorithm(s)); outputs != 0) {
    return winograd_forward(s, rows, outputs, x, w, bias, activation, y, scratch);
  }
  const size_t pixels = pixels_to_join(s);
  if (pixels > 1) {
    w = widen_weights(s, pixels, w, scratch);
    if (bias != nullptr) bias = widen_bias(s, pixels, bias, scratch);
  }
  forward_over_patches(widened(s, pixels), rows, images_at_once(s), x, w, bias, activation, y, scratch);
}

void conv2d_forward(const Conv2dShape& s, const float* x, const float* w, const float* bias, Activation activation,
                    float* y, void* workspace) {
  conv2d_forward_rows(s, {0, s.out_h()}, x, w, bias, activation, y, workspace);
}

namespace {

// Rows `taps` of dw, `images` at once.
void weights_over_patches(const Conv2dShape& s, size_t images, Range taps, const float* x, const float* dy, float* dw,
                          Scratch& scratch) {
  const Layout layout(s);
  const size_t pixels = layout.pixels, filters = s.filters / s.groups;
  const int32_t* tap_offsets = layout.taps(scratch.take<int32_t>(s.taps()));
  const int32_t* row_offsets = layout.output_rows(images, scratch.take<int32_t>(s.out_h() * images));
  PaddedImage image(s, images, scratch);
  float* buffer = scratch.take<float>(packed_a_floats(s.taps(), images * pixels));
  for (size_t n = 0; n < s.batch; n += images) {
    const size_t some = HWY_MIN(images, s.batch - n);
    const float* base = image.padded(x + n * layout.image, some);
    for (size_t g = 0; g < s.groups; ++g) {
      const MatrixA a{base + g * layout.depth,
                      {tap_offsets + taps.begin, 0},
                      row_offsets,
                      some * s.out_h(),
                      s.out_w(),
                      static_cast<ptrdiff_t>(s.stride_w * s.channels),
                      buffer};
      const MatrixC c{dw + taps.begin * s.filters + g * filters, {nullptr, static_cast<ptrdiff_t>(s.filters)}};
      gemm(taps.size(), filters, a, plain_b(filters, dy + n * pixels * s.filters + g * filters, s.filters), c,
           {.accumulate = n > 0});
    }
  }
}

}  // namespace

void conv2d_backward_weights_part(const Conv2dShape& s, Range taps, const float* x, const float* dy, float* dw,
                                  float* dbias, void* workspace) {
  if (s.is_pointwise()) return dense_backward_weights_part(s.as_dense(), taps, x, dy, dw, dbias, workspace);
  if (dbias != nullptr) column_sums(s.batch * s.out_h() * s.out_w(), s.filters, dy, dbias);
  if (taps.size() == 0) return;
  if (s.is_depthwise()) return depthwise_backward_weights(s, taps, x, dy, dw, workspace);
  Scratch scratch(workspace);
  const size_t pixels = pixels_to_join(s);
  if (pixels > 1) {
    // A kernel row of w has its gradient in the same row of the wide kernel.
    const Conv2dShape wide = widened(s, pixels);
    const size_t row = s.kernel_w * s.channels, wide_row = wide.kernel_w * s.channels;
    const Range wide_taps{taps.begin / row * wide_row, (taps.end + row - 1) / row * wide_row};
    float* wide_dw = scratch.take<float>(wide.taps() * wide.filters);
    weights_over_patches(wide, images_at_once(s), wide_taps, x, dy, wide_dw, scratch);
    narrow_gradients(s, pixels, taps, wide_dw, dw);
  } else {
    weights_over_patches(s, images_at_once(s), taps, x, dy, dw, scratch);
  }
}

void conv2d_backward_weights(const Conv2dShape& s, const float* x, const float* dy, float* dw, float* dbias,
                             void* workspace) {
  conv2d_backward_weights_part(s, {0, s.taps()}, x, dy, dw, dbias, workspace);
}

namespace {

// w turned half round: tap t of channel c and filter o is tap taps - 1 - t of filter o and channel c.
void turn_weights(const Conv2dShape& s, const float* w, float* to) {
  const size_t depth = s.channels / s.groups, filters = s.filters / s.groups, taps = s.kernel_h * s.kernel_w;
  for (size_t t = 0; t < taps; ++t) {
    for (size_t g = 0; g < s.groups; ++g) {
      transpose(depth, filters, w + t * depth * s.filters + g * filters, s.filters,
                to + (taps - 1 - t) * filters * s.channels + g * depth, s.channels);
    }
  }
}

}  // namespace

void conv2d_backward_input_rows(const Conv2dShape& s, Range rows, const float* dy, const float* w, float* dx,
                                void* workspace) {
  if (s.is_depthwise()) return depthwise_backward_input(s, rows, dy, w, dx, workspace);
  if (s.is_pointwise()) {
    const size_t first = rows.begin * s.width;
    return dense_backward_input(dense_of(s, rows), dy + first * s.filters, w, dx + first * s.channels, workspace);
  }
  Scratch scratch(workspace);
  float* turned_weights = scratch.take<float>(s.filters * s.taps());
  turn_weights(s, w, turned_weights);
  const Conv2dShape turned = convolution_of_gradient(s);
  if (const size_t outputs = winograd_outputs(conv2d_algorithm(turned)); outputs != 0) {
    return winograd_forward(turned, rows, outputs, dy, turned_weights, nullptr, Activation::none, dx, scratch);
  }
  forward_over_patches(turned, rows, images_at_once(turned), dy, turned_weights, nullptr, Activation::none, dx, scratch);
}

void conv2d_backward_input(const Conv2dShape& s, const float* dy, const float* w, float* dx, void* workspace) {
  if (gradient_has_rows(s)) return conv2d_backward_input_rows(s, {0, s.height}, dy, w, dx, workspace);
  Scratch scratch(workspace);
  const Layout layout(s);
  const size_t pixels = layout.pixels, filters = s.filters / s.groups, taps = s.taps();
  // Down the columns: neighbours along a row write overlapping pieces of dimage, and adding to what was stored a moment
  // ago stalls.
  int32_t* dy_offsets = scratch.take<int32_t>(pixels);
  const int32_t* pixel_offsets = layout.pixels_by_column(scratch.take<int32_t>(pixels), dy_offsets);
  const int32_t* run_offsets = layout.runs(scratch.take<int32_t>(s.kernel_h * s.kernel_w));
  PaddedImage image(s, 1, scratch);
  float* turned = scratch.take<float>(s.filters * taps);  // w^T, each group's [filters, taps]
  transpose(taps, s.filters, w, s.filters, turned, taps);
  for (size_t n = 0; n < s.batch; ++n) {
    float* to = image.begin_sum(dx + n * layout.image);
    for (size_t g = 0; g < s.groups; ++g) {
      const MatrixA a{dy + n * pixels * s.filters + g * filters, {dy_offsets, 0}, nullptr, 1, filters, 1};
      for (size_t run = 0; run < layout.run_count; ++run) {
        const MatrixB b =
            plain_b(layout.run_length, turned + g * filters * taps + run * layout.run_length, taps);
        const MatrixC c{to + g * layout.depth + run_offsets[run], {pixel_offsets, 0}};
        gemm(pixels, layout.run_length, a, b, c, {.accumulate = true});
      }
    }
    image.end_sum(dx + n * layout.image);
  }
}

void fill_conv2d_target(Conv2dKernels<float>& table) {
  table.conv2d_forward = conv2d_forward;
  table.conv2d_backward_input = conv2d_backward_input;
  table.conv2d_forward_rows = conv2d_forward_rows;
  table.conv2d_backward_input_rows = conv2d_backward_input_rows;
  table.conv2d_backward_weights = conv2d_backward_weights;
  table.conv2d_backward_weights_part = conv2d_backward_weights_part;
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(conv2d, Conv2dKernels)
}  // namespace coterie::kernels::simd
#endif
