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
// Weights come prepared - packed, turned or transformed by a call of their own - except where so few rows read them
// that they are better packed a panel at a time, or read where they lie.
//
// Where conv2d_algorithm.h says so, forward and dX of 3 x 3 with stride 1 and enough channels are Winograd's
// (winograd.cc), and those of large kernels are done by Fourier transforms (fft_conv2d.cc).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/conv2d.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/conv2d_algorithm.h"
#include "train_kernels/simd/bfloat16_targets.h"
#include "train_kernels/simd/conv2d_inl.h"
#include "train_kernels/simd/conv2d_prepare_inl.h"
#include "train_kernels/simd/dense_inl.h"
#include "train_kernels/simd/depthwise_inl.h"
#include "train_kernels/simd/fft_conv2d_inl.h"
#include "train_kernels/simd/image_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/simd/widen_inl.h"
#include "train_kernels/simd/winograd_inl.h"
#include "train_kernels/tables/conv2d.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

// The left factor of the products, `images` at once: the patches of these rows of y, of one image or all of them.
template <class Products>
class Patches {
 public:
  Patches(const Conv2dShape& shape, size_t images, Range rows, Scratch& scratch)
      : s_(shape),
        products_(s_.filters / s_.groups),
        layout_(s_),
        images_(images),
        rows_(rows),
        pixel_offsets_(layout_.pixels_by_row(images, scratch.take<int32_t>(layout_.pixels * images))),
        run_offsets_(layout_.runs(scratch.take<int32_t>(s_.kernel_h * s_.kernel_w))),
        image_(s_, images, {rows.begin * s_.stride_h, (rows.end - 1) * s_.stride_h + s_.extent_h()}, scratch) {}

  // From image `first` on.
  void read(const float* x, size_t first) {
    first_ = first;
    count_ = HWY_MIN(images_, s_.batch - first);
    base_ = image_.padded(x + first * layout_.image, count_);
  }

  // These columns of a group; b begins with the first of them.
  void product(size_t group, Range columns, const MatrixB& b, const float* bias, Activation activation,
               float* y) const {
    const size_t first = rows_.begin * s_.out_w(), column = group * (s_.filters / s_.groups) + columns.begin;
    const MatrixA a{base_ + group * layout_.depth,
                    {pixel_offsets_ + first, 0},
                    run_offsets_,
                    layout_.run_count,
                    layout_.run_length,
                    1};
    const MatrixC c{y + (first_ * layout_.pixels + first) * s_.filters + column,
                    {nullptr, static_cast<ptrdiff_t>(s_.filters)}};
    products_.multiply(
        rows_.size() * s_.out_w() * count_, columns.size(), a, b, c,
        {.accumulate = false, .activation = activation, .bias = bias == nullptr ? nullptr : bias + column});
  }

 private:
  const Conv2dShape& s_;
  Products products_;
  Layout layout_;
  size_t images_;
  Range rows_;
  const int32_t* pixel_offsets_;
  const int32_t* run_offsets_;
  PaddedImage image_;
  const float* base_ = nullptr;
  size_t first_ = 0, count_ = 0;
};

// x: [batch, height, width, channels]; w: [taps, filters], packed in `prepared` group after group, or, if that is null,
// as it lies; bias: [filters] or null; y: [batch, out_h, out_w, filters], some rows and columns of it.
template <class Products>
void forward_over_patches(const Conv2dShape& s, size_t images, Range rows, Range columns, const float* x,
                          const float* w, const float* prepared, const float* bias, Activation activation, float* y,
                          Scratch& scratch) {
  const size_t taps = s.taps(), filters = s.filters / s.groups;
  Patches<Products> patches(s, images, rows, scratch);
  const Products products(filters);
  const bool is_prepared = prepared != nullptr && filters > panel_of(filters);
  const bool pack = prepared == nullptr && worth_packing(s.batch * s.out_h() * s.out_w(), columns.size());
  const size_t group = packed_b_floats(taps, pack ? columns.size() : filters);
  float* packed = pack ? scratch.take<float>(group * s.groups) : nullptr;
  for (size_t n = 0; n < s.batch; n += images) {
    patches.read(x, n);
    for (size_t g = 0; g < s.groups; ++g) {
      const float* plain = w + g * filters + columns.begin;
      // Once, with the first images: all others read the same panels.
      if (pack && n == 0) pack_all(products, taps, columns.size(), plain, s.filters, packed + g * group);
      const MatrixB b = is_prepared ? from_column(products.packed(taps, filters, prepared + g * group), columns.begin)
                        : pack      ? products.packed(taps, columns.size(), packed + g * group)
                                    : plain_b(columns.size(), plain, s.filters);
      patches.product(g, columns, b, bias, activation, y);
    }
  }
}

// Some columns of the only group, or all of each.
Range columns_of_group(Range columns, size_t of_group) { return {columns.begin, HWY_MIN(columns.end, of_group)}; }

// A 1 x 1 convolution of some rows of one image, or of all rows.
DenseShape dense_of(const Conv2dShape& s, Range rows) {
  return {s.batch * rows.size() * s.width, s.channels, s.filters};
}

}  // namespace

// x: [batch, height, width, channels]; w: [kernel_h, kernel_w, channels / groups, filters]; bias: [filters] or null; y:
// [batch, out_h, out_w, filters]. Each way to compute it gives other bits, so the shape alone decides, never the part.
template <class Products>
void conv2d_forward_part(const Conv2dShape& s, Range rows, Range filters, const float* x, const float* w,
                         const float* prepared, const float* bias, Activation activation, float* y, void* workspace) {
  if (fft_pays(s)) {
    Scratch scratch(workspace);
    return fft_forward(s, rows, x, w, false, bias, activation, y, scratch);
  }
  if (s.is_depthwise()) return depthwise_forward(s, rows, x, w, bias, activation, y, workspace);
  if (s.is_pointwise()) {
    const size_t first = rows.begin * s.width;
    return dense_forward<Products>(dense_of(s, rows), filters, x + first * s.channels, w, prepared, bias, activation,
                                   y + first * s.filters, workspace);
  }
  Scratch scratch(workspace);
  if (const size_t outputs = winograd_outputs(conv2d_algorithm(s)); kHasWinograd && outputs != 0) {
    return winograd_forward<Products>(s, rows, outputs, x, prepared, bias, activation, y, scratch);
  }
  const size_t pixels = pixels_to_join(s), images = images_at_once(s);
  if (pixels == 1) {
    const Range of_group = columns_of_group(filters, s.filters / s.groups);
    return forward_over_patches<Products>(s, images, rows, of_group, x, w, prepared, bias, activation, y, scratch);
  }
  // Few filters fill no vector: several neighbouring pixels become one with as many times the filters.
  const Conv2dShape wide = widened(s, pixels);
  w = widen_weights(s, pixels, w, scratch);
  if (bias != nullptr) bias = widen_bias(s, pixels, bias, scratch);
  forward_over_patches<Products>(wide, images, rows, {0, wide.filters}, x, w, nullptr, bias, activation, y, scratch);
}

template <class Products>
void conv2d_forward(const Conv2dShape& s, const float* x, const float* w, const float* prepared, const float* bias,
                    Activation activation, float* y, void* workspace) {
  conv2d_forward_part<Products>(s, {0, s.out_h()}, {0, s.filters}, x, w, prepared, bias, activation, y, workspace);
}

namespace {

// x: [batch, height, width, channels]; dy: [batch, out_h, out_w, filters]; dw: [taps, filters], some rows of it.
// `images` at once are one long product: dw is read and written once for all of them.
template <class Products>
void weights_over_patches(const Conv2dShape& s, size_t images, Range taps, const float* x, const float* dy, float* dw,
                          Scratch& scratch) {
  const Layout layout(s);
  const size_t pixels = layout.pixels, filters = s.filters / s.groups;
  const Products products(filters);
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
      products.multiply(taps.size(), filters, a, plain_b(filters, dy + n * pixels * s.filters + g * filters, s.filters),
                        c, {.accumulate = n > 0});
    }
  }
}

}  // namespace

// x: [batch, height, width, channels]; dy: [batch, out_h, out_w, filters]; dw: [taps, filters], some rows of it;
// dbias: [filters] or null.
template <class Products>
void conv2d_backward_weights_part(const Conv2dShape& s, Range taps, const float* x, const float* dy, float* dw,
                                  float* dbias, void* workspace) {
  if (s.is_pointwise()) return dense_backward_weights_part<Products>(s.as_dense(), taps, x, dy, dw, dbias, workspace);
  // Before the return below: of several parts one has the bias, and it may have no taps.
  if (dbias != nullptr) column_sums(s.batch * s.out_h() * s.out_w(), s.filters, dy, dbias);
  if (taps.size() == 0) return;
  if (s.is_depthwise()) return depthwise_backward_weights(s, taps, x, dy, dw, workspace);
  Scratch scratch(workspace);
  const size_t pixels = pixels_to_join(s);
  if (pixels > 1) {
    // A kernel row of w has its gradient in the same row of the wide kernel.
    // Only whole rows of the wide kernel can be computed; what a part did not ask for of them is left out when it is
    // narrowed.
    const Conv2dShape wide = widened(s, pixels);
    const size_t row = s.kernel_w * s.channels, wide_row = wide.kernel_w * s.channels;
    const Range wide_taps{taps.begin / row * wide_row, (taps.end + row - 1) / row * wide_row};
    float* wide_dw = scratch.take<float>(wide.taps() * wide.filters);
    weights_over_patches<Products>(wide, images_at_once(s), wide_taps, x, dy, wide_dw, scratch);
    narrow_gradients(s, pixels, taps, wide_dw, dw);
  } else {
    weights_over_patches<Products>(s, images_at_once(s), taps, x, dy, dw, scratch);
  }
}

template <class Products>
void conv2d_backward_weights(const Conv2dShape& s, const float* x, const float* dy, float* dw, float* dbias,
                             void* workspace) {
  conv2d_backward_weights_part<Products>(s, {0, s.taps()}, x, dy, dw, dbias, workspace);
}

namespace {

// dx of stride 1: the convolution `turned` of dy. dy: [batch, out_h, out_w, filters]; w: [kernel_h, kernel_w, channels
// / groups, filters]; dx: [batch, height, width, channels], some rows and channels of it.
template <class Products>
void backward_input_over_patches(const Conv2dShape& s, const Conv2dShape& turned, Range rows, Range channels,
                                 const float* dy, const float* w, const float* prepared, float* dx, Scratch& scratch) {
  const size_t images = images_at_once(turned), taps = turned.taps(), depth = s.channels / s.groups;
  const size_t wide = prepared == nullptr ? panel_of(channels.size()) : channels.size();
  Patches<Products> patches(turned, images, rows, scratch);
  const Products products(depth);
  float* panel = prepared == nullptr ? scratch.take<float>(taps * wide) : nullptr;
  for (size_t n = 0; n < s.batch; n += images) {
    patches.read(dy, n);
    for (size_t g = 0; g < s.groups; ++g) {
      // Few rows: each panel is made, used and forgotten while it is in the cache.
      for (size_t c = channels.begin; c < channels.end; c += wide) {
        const Range some{c, HWY_MIN(channels.end, c + wide)};
        if (panel != nullptr) pack_turned<Products>(s, g, {0, s.filters / s.groups}, some, w, panel);
        const MatrixB b =
            panel != nullptr
                ? products.packed(taps, some.size(), panel)
                : from_column(products.packed(taps, depth, prepared + g * packed_b_floats(taps, depth)), c);
        patches.product(g, some, b, nullptr, Activation::none, dx);
      }
    }
  }
}

// w turned half round: tap t of channel c and filter o is tap taps - 1 - t of filter o and channel c. w: [kernel_h,
// kernel_w, channels, filters] -> [kernel_h, kernel_w, filters, channels].
const float* turned_weights(const Conv2dShape& s, const float* w, Scratch& scratch) {
  const size_t taps = s.kernel_h * s.kernel_w;
  float* to = scratch.take<float>(s.filters * s.taps());
  for (size_t t = 0; t < taps; ++t) {
    transpose(s.channels, s.filters, w + t * s.channels * s.filters, s.filters,
              to + (taps - 1 - t) * s.filters * s.channels, s.channels);
  }
  return to;
}

}  // namespace

// dy: [batch, out_h, out_w, filters]; w: [kernel_h, kernel_w, channels / groups, filters]; dx: [batch, height, width,
// channels], some rows and channels of it.
template <class Products>
void conv2d_backward_input_part(const Conv2dShape& s, Range rows, Range channels, const float* dy, const float* w,
                                const float* prepared, float* dx, void* workspace) {
  if (gradient_is_fft(s)) {
    Scratch scratch(workspace);
    if (!s.is_depthwise()) w = turned_weights(s, w, scratch);
    return fft_forward(convolution_of_gradient(s), rows, dy, w, s.is_depthwise(), nullptr, Activation::none, dx,
                       scratch);
  }
  if (s.is_depthwise()) return depthwise_backward_input(s, rows, dy, w, dx, workspace);
  if (s.is_pointwise()) {
    const size_t first = rows.begin * s.width;
    return dense_backward_input<Products>(dense_of(s, rows), channels, dy + first * s.filters, w, prepared,
                                          dx + first * s.channels, workspace);
  }
  Scratch scratch(workspace);
  const Conv2dShape turned = convolution_of_gradient(s);
  if (const size_t outputs = winograd_outputs(conv2d_algorithm(turned)); kHasWinograd && outputs != 0) {
    return winograd_forward<Products>(turned, rows, outputs, dy, prepared, nullptr, Activation::none, dx, scratch);
  }
  const Range of_group = columns_of_group(channels, s.channels / s.groups);
  backward_input_over_patches<Products>(s, turned, rows, of_group, dy, w, prepared, dx, scratch);
}

// The same, all of it. Where no row of dx stands alone (gradient_has_rows), its pieces are added up in the padded
// image.
template <class Products>
void conv2d_backward_input(const Conv2dShape& s, const float* dy, const float* w, const float* prepared, float* dx,
                           void* workspace) {
  if (gradient_has_rows(s)) {
    return conv2d_backward_input_part<Products>(s, {0, s.height}, {0, s.channels}, dy, w, prepared, dx, workspace);
  }
  Scratch scratch(workspace);
  const Layout layout(s);
  const size_t pixels = layout.pixels, filters = s.filters / s.groups, taps = s.taps();
  const Products products(layout.run_length);
  // Down the columns: neighbours along a row write overlapping pieces of dimage, and adding to what was stored a moment
  // ago stalls.
  int32_t* dy_offsets = scratch.take<int32_t>(pixels);
  const int32_t* pixel_offsets = layout.pixels_by_column(scratch.take<int32_t>(pixels), dy_offsets);
  const int32_t* run_offsets = layout.runs(scratch.take<int32_t>(s.kernel_h * s.kernel_w));
  PaddedImage image(s, 1, scratch);
  for (size_t n = 0; n < s.batch; ++n) {
    float* to = image.begin_sum(dx + n * layout.image);
    for (size_t g = 0; g < s.groups; ++g) {
      const MatrixA a{dy + n * pixels * s.filters + g * filters, {dy_offsets, 0}, nullptr, 1, filters, 1};
      for (size_t run = 0; run < layout.run_count; ++run) {
        const MatrixB b = plain_b(layout.run_length, prepared + g * filters * taps + run * layout.run_length, taps);
        const MatrixC c{to + g * layout.depth + run_offsets[run], {pixel_offsets, 0}};
        products.multiply(pixels, layout.run_length, a, b, c, {.accumulate = true});
      }
    }
    image.end_sum(dx + n * layout.image);
  }
}

template void conv2d_forward<Float32Products>(const Conv2dShape&, const float*, const float*, const float*,
                                              const float*, Activation, float*, void*);
template void conv2d_backward_input<Float32Products>(const Conv2dShape&, const float*, const float*, const float*,
                                                     float*, void*);
template void conv2d_backward_weights_part<Float32Products>(const Conv2dShape&, Range, const float*, const float*,
                                                            float*, float*, void*);
template void conv2d_backward_weights<Float32Products>(const Conv2dShape&, const float*, const float*, float*, float*,
                                                       void*);

namespace {

template <class Products>
void fill_with(Conv2dKernels<float>& table) {
  table.conv2d_prepare_forward = conv2d_prepare_forward<Products>;
  table.conv2d_prepare_backward_input = conv2d_prepare_backward_input<Products>;
  table.conv2d_forward = conv2d_forward<Products>;
  table.conv2d_backward_input = conv2d_backward_input<Products>;
  table.conv2d_forward_part = conv2d_forward_part<Products>;
  table.conv2d_backward_input_part = conv2d_backward_input_part<Products>;
  table.conv2d_backward_weights = conv2d_backward_weights<Products>;
  table.conv2d_backward_weights_part = conv2d_backward_weights_part<Products>;
}

}  // namespace

void fill_conv2d_target(Conv2dKernels<float>& table) { fill_with<Float32Products>(table); }
#if COT_TARGET_HAS_BFLOAT16
void fill_conv2d_bfloat16_target(Conv2dKernels<float>& table) { fill_with<Bfloat16Products>(table); }
#endif

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(conv2d, Conv2dKernels)
COT_DEFINE_BFLOAT16_FILL(conv2d, Conv2dKernels)
}  // namespace coterie::kernels::simd
#endif
