// Depthwise convolution: groups == channels == filters, so each channel is an image of its own and channels are the
// vector. Contracts: tables/conv2d.h; the kernels in depthwise.cc and depthwise_weights.cc. Compiled once per
// target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_DEPTHWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_DEPTHWISE_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_DEPTHWISE_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_DEPTHWISE_INL_H_
#endif

#include "train_kernels/range.h"
#include "train_kernels/shapes.h"
#include "train_kernels/simd/vector_inl.h"
#include "train_kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// An operand of so many floats comes from memory. Several pixels of several rows are read at once, more streams than
// the hardware follows, so what the next row of results needs is fetched with this one: at 56 x 56 with 144 channels
// and 8 images dW takes 0.4 of the time, forward and dX 0.7. (In L3 it would cost a third more.)
inline constexpr size_t kFloatsFromMemory = size_t{1} << 21;

// One axis of a convolution.
struct DepthwiseAxis {
  size_t in, out, kernel, stride, dilation, pad;
};
HWY_INLINE DepthwiseAxis depthwise_rows(const Conv2dShape& s) {
  return {s.height, s.out_h(), s.kernel_h, s.stride_h, s.dilation_h, s.pad_top};
}
HWY_INLINE DepthwiseAxis depthwise_columns(const Conv2dShape& s) {
  return {s.width, s.out_w(), s.kernel_w, s.stride_w, s.dilation_w, s.pad_left};
}

// Output `at` reads inputs at * stride + k * dilation - pad.
HWY_INLINE ColumnTaps forward_taps(const DepthwiseAxis& a, size_t at) {
  ColumnTaps taps{0, 1, 0, static_cast<int32_t>(a.dilation), 0};
  for (size_t k = 0; k < a.kernel; ++k) {
    const size_t padded = at * a.stride + k * a.dilation;
    if (padded < a.pad || padded >= a.pad + a.in) continue;
    if (taps.count++ == 0) {
      taps.w = static_cast<int32_t>(k);
      taps.x = static_cast<int32_t>(padded - a.pad);
    }
  }
  return taps;
}

// `rows` of each image's y, or dx.
void depthwise_forward(const Conv2dShape& s, Range rows, const float* x, const float* w, const float* bias,
                       Activation activation, float* y, void* workspace);
void depthwise_backward_input(const Conv2dShape& s, Range rows, const float* dy, const float* w, float* dx,
                              void* workspace);
// Rows `taps` of dw.
void depthwise_backward_weights(const Conv2dShape& s, Range taps, const float* x, const float* dy, float* dw,
                                void* workspace);

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
