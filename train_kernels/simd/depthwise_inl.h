// Depthwise convolution: groups == channels == filters, so each channel is an image of its own and channels are the
// vector. Contracts: tables/conv2d.h; the kernels in depthwise.cc. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_DEPTHWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_DEPTHWISE_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_DEPTHWISE_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_DEPTHWISE_INL_H_
#endif

#include "train_kernels/range.h"
#include "train_kernels/shapes.h"
#include "train_kernels/simd/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

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
