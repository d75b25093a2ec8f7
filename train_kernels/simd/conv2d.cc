// Convolution as matrix products over patches that are read in place. Contracts: kernel_table.h.
//
// The image is copied once into a zero border where it needs padding. Then the element of the patch matrix of pixel p
// and tap t lies at (offset of p) + (offset of t) in that image, which is exactly the form of gemm_inl.h's A:
//
//   forward  y[p, o]  = sum over t of image[p + t] w[t, o]       rows are pixels, k runs over taps
//   dW       dw[t, o] = sum over p of image[p + t] dy[p, o]      rows are taps, k runs over pixels
//   dX       dimage[p + t] += sum over o of dy[p, o] w[t, o]     rows are pixels, k runs over filters; the taps of one
//            kernel row are neighbours in the image, so a whole kernel row is added to dimage at once
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/conv2d.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/kernel_table.h"
#include "train_kernels/simd/conv2d_inl.h"
#include "train_kernels/simd/dense_inl.h"
#include "train_kernels/simd/depthwise_inl.h"
#include "train_kernels/simd/image_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/simd/widen_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

void forward_over_patches(const Conv2dShape& s, const float* x, const float* w, const float* bias,
                          Activation activation, float* y, Scratch& scratch) {
  const Layout layout(s);
  const size_t pixels = layout.pixels, filters = s.filters / s.groups;
  const int32_t* pixel_offsets = layout.pixels_by_row(scratch.take<int32_t>(pixels));
  const int32_t* run_offsets = layout.runs(scratch.take<int32_t>(s.kernel_h * s.kernel_w));
  PaddedImage image(s, scratch);
  const bool pack = worth_packing(s.batch * pixels, filters);
  float* packed = pack ? scratch.take<float>(packed_floats(s.taps(), filters, kPanel) * s.groups) : nullptr;
  for (size_t n = 0; n < s.batch; ++n) {
    const float* base = image.padded(x + n * layout.image);
    for (size_t g = 0; g < s.groups; ++g) {
      const MatrixA a{base + g * layout.depth,    {pixel_offsets, 0}, run_offsets, layout.run_count,
                      layout.run_length, 1};
      MatrixB b = plain_b(w + g * filters, s.filters);
      if (pack) {
        float* to = packed + g * packed_floats(s.taps(), filters, kPanel);
        if (n == 0) pack_b(s.taps(), filters, b.base, s.filters, to);
        b = {to, kPanel, s.taps() * kPanel};
      }
      const MatrixC c{y + n * pixels * s.filters + g * filters, {nullptr, static_cast<ptrdiff_t>(s.filters)}};
      gemm(pixels, filters, a, b, c,
           {.accumulate = false,
            .relu = activation == Activation::relu,
            .bias = bias == nullptr ? nullptr : bias + g * filters});
    }
  }
}

}  // namespace

void conv2d_forward(const Conv2dShape& s, const float* x, const float* w, const float* bias, Activation activation,
                    float* y, void* workspace) {
  if (s.is_depthwise()) return depthwise_forward(s, x, w, bias, activation, y, workspace);
  if (s.is_pointwise()) return dense_forward(s.as_dense(), x, w, bias, activation, y, workspace);
  Scratch scratch(workspace);
  const size_t pixels = pixels_to_join(s);
  if (pixels > 1) {
    w = widen_weights(s, pixels, w, scratch);
    if (bias != nullptr) bias = widen_bias(s, pixels, bias, scratch);
  }
  forward_over_patches(widened(s, pixels), x, w, bias, activation, y, scratch);
}

namespace {

void weights_over_patches(const Conv2dShape& s, const float* x, const float* dy, float* dw, Scratch& scratch) {
  const Layout layout(s);
  const size_t pixels = layout.pixels, filters = s.filters / s.groups;
  const int32_t* tap_offsets = layout.taps(scratch.take<int32_t>(s.taps()));
  const int32_t* row_offsets = layout.output_rows(scratch.take<int32_t>(s.out_h()));
  PaddedImage image(s, scratch);
  for (size_t n = 0; n < s.batch; ++n) {
    const float* base = image.padded(x + n * layout.image);
    for (size_t g = 0; g < s.groups; ++g) {
      const MatrixA a{base + g * layout.depth, {tap_offsets, 0}, row_offsets, s.out_h(), s.out_w(),
                      static_cast<ptrdiff_t>(s.stride_w * s.channels)};
      const MatrixC c{dw + g * filters, {nullptr, static_cast<ptrdiff_t>(s.filters)}};
      gemm(s.taps(), filters, a, plain_b(dy + n * pixels * s.filters + g * filters, s.filters), c,
           {.accumulate = n > 0});
    }
  }
}

}  // namespace

void conv2d_backward_weights(const Conv2dShape& s, const float* x, const float* dy, float* dw, float* dbias,
                             void* workspace) {
  if (s.is_depthwise()) {
    depthwise_backward_weights(s, x, dy, dw, workspace);
    if (dbias != nullptr) column_sums(s.batch * s.out_h() * s.out_w(), s.filters, dy, dbias);
    return;
  }
  if (s.is_pointwise()) return dense_backward_weights(s.as_dense(), x, dy, dw, dbias, workspace);
  Scratch scratch(workspace);
  const size_t pixels = pixels_to_join(s);
  if (pixels > 1) {
    const Conv2dShape wide = widened(s, pixels);
    float* wide_dw = scratch.take<float>(wide.taps() * wide.filters);
    weights_over_patches(wide, x, dy, wide_dw, scratch);
    narrow_gradients(s, pixels, wide_dw, dw);
  } else {
    weights_over_patches(s, x, dy, dw, scratch);
  }
  if (dbias != nullptr) column_sums(s.batch * s.out_h() * s.out_w(), s.filters, dy, dbias);
}

void conv2d_backward_input(const Conv2dShape& s, const float* dy, const float* w, float* dx, void* workspace) {
  if (s.is_depthwise()) return depthwise_backward_input(s, dy, w, dx, workspace);
  if (s.is_pointwise()) return dense_backward_input(s.as_dense(), dy, w, dx, workspace);
  Scratch scratch(workspace);
  const Layout layout(s);
  const size_t pixels = layout.pixels, filters = s.filters / s.groups, taps = s.taps();
  // Down the columns: neighbours along a row write overlapping pieces of dimage, and adding to what was stored a moment
  // ago stalls.
  int32_t* dy_offsets = scratch.take<int32_t>(pixels);
  const int32_t* pixel_offsets = layout.pixels_by_column(scratch.take<int32_t>(pixels), dy_offsets);
  const int32_t* run_offsets = layout.runs(scratch.take<int32_t>(s.kernel_h * s.kernel_w));
  PaddedImage image(s, scratch);
  float* turned = scratch.take<float>(s.filters * taps);  // w^T, each group's [filters, taps]
  transpose(taps, s.filters, w, s.filters, turned, taps);
  for (size_t n = 0; n < s.batch; ++n) {
    float* to = image.begin_sum(dx + n * layout.image);
    for (size_t g = 0; g < s.groups; ++g) {
      const MatrixA a{dy + n * pixels * s.filters + g * filters, {dy_offsets, 0}, nullptr, 1, filters, 1};
      for (size_t run = 0; run < layout.run_count; ++run) {
        const MatrixB b = plain_b(turned + g * filters * taps + run * layout.run_length, taps);
        const MatrixC c{to + g * layout.depth + run_offsets[run], {pixel_offsets, 0}};
        gemm(pixels, layout.run_length, a, b, c, {.accumulate = true});
      }
    }
    image.end_sum(dx + n * layout.image);
  }
}

void fill_conv2d_target(KernelTable& table) {
  table.conv2d_forward = conv2d_forward;
  table.conv2d_backward_input = conv2d_backward_input;
  table.conv2d_backward_weights = conv2d_backward_weights;
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(conv2d)
}  // namespace coterie::kernels::simd
#endif
