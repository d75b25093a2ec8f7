// Transposed convolution: the matching convolution's kernels with x and y in each other's place. Contracts:
// tables/conv_transpose2d.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/conv_transpose2d.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/simd/conv2d_inl.h"
#include "train_kernels/simd/conv2d_prepare_inl.h"
#include "train_kernels/simd/gemm_inl.h"
#include "train_kernels/simd/map_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/conv_transpose2d.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

struct FinishPixel {
  const float* bias;
  Activation activation;
  float* y;

  template <class Lanes>
  HWY_INLINE void operator()(size_t c, const Lanes& lanes) const {
    Vector value = lanes.load(y + c);
    if (bias != nullptr) value = hn::Add(value, lanes.load(bias + c));
    lanes.store(activated(activation, value), y + c);
  }
};

// Null for 0 bytes.
float* take_prepared(size_t bytes, Scratch& scratch) {
  return bytes == 0 ? nullptr : scratch.take<float>(bytes / sizeof(float));
}

// s is the matching convolution, so its output is our input: x[batch, out_h, out_w, filters], w[kernel_h, kernel_w,
// channels / groups, filters], bias[channels] -> y[batch, height, width, channels]. Forward here is its backward by
// input.
void conv_transpose2d_forward(const Conv2dShape& s, const float* x, const float* w, const float* bias,
                              Activation activation, float* y, void* workspace) {
  Conv2dShape image = s;
  image.batch = 1;
  Scratch scratch(workspace);
  float* prepared = take_prepared(conv2d_backward_input_prepared_bytes(s), scratch);
  if (prepared != nullptr) conv2d_prepare_backward_input<Float32Products>(s, {0, s.filters / s.groups}, w, prepared);
  const size_t pixels = s.height * s.width;
  for (size_t n = 0; n < s.batch; ++n) {  // the second pass finds the image in the cache
    conv2d_backward_input<Float32Products>(image, x, w, prepared, y, scratch.rest());
    if (bias != nullptr || activation != Activation::none) {
      const auto finish = [&](size_t p) { return FinishPixel{bias, activation, y + p * s.channels}; };
      for (size_t p = 0; p < pixels; ++p) for_each_vector(s.channels, finish(p));
    }
    x += s.out_h() * s.out_w() * s.filters;
    y += pixels * s.channels;
  }
}

// dy: [batch, height, width, channels]; dx: [batch, out_h, out_w, filters]. The matching convolution's forward.
void conv_transpose2d_backward_input(const Conv2dShape& s, const float* dy, const float* w, float* dx,
                                     void* workspace) {
  Scratch scratch(workspace);
  float* prepared = take_prepared(conv2d_forward_prepared_bytes(s), scratch);
  if (prepared != nullptr) conv2d_prepare_forward<Float32Products>(s, {0, s.channels / s.groups}, w, prepared);
  conv2d_forward<Float32Products>(s, dy, w, prepared, nullptr, Activation::none, dx, scratch.rest());
}

// x: [batch, out_h, out_w, filters]; dy: [batch, height, width, channels]; dw: as w; dbias: [channels] or null. x and
// dy change places in the matching convolution.
void conv_transpose2d_backward_weights(const Conv2dShape& s, const float* x, const float* dy, float* dw, float* dbias,
                                       void* workspace) {
  conv2d_backward_weights<Float32Products>(s, dy, x, dw, nullptr, workspace);
  if (dbias != nullptr) column_sums(s.batch * s.height * s.width, s.channels, dy, dbias);
}

}  // namespace

void fill_conv_transpose2d_target(ConvTranspose2dKernels<float>& table) {
  COT_SET(conv_transpose2d_forward, conv_transpose2d_forward);
  COT_SET(conv_transpose2d_backward_input, conv_transpose2d_backward_input);
  COT_SET(conv_transpose2d_backward_weights, conv_transpose2d_backward_weights);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(conv_transpose2d, ConvTranspose2dKernels)
}  // namespace coterie::kernels::simd
#endif
