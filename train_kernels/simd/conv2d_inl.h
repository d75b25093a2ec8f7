// The convolution kernels of one target, for those that build on them. Contracts: tables/conv2d.h; the kernels in
// conv2d.cc.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_CONV2D_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_CONV2D_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_CONV2D_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_CONV2D_INL_H_
#endif

#include "train_kernels/range.h"
#include "train_kernels/shapes.h"
#include "train_kernels/simd/products_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

template <class Products>
void conv2d_forward(const Conv2dShape& s, const float* x, const float* w, const float* prepared, const float* bias,
                    Activation activation, float* y, void* workspace);
template <class Products>
void conv2d_backward_input(const Conv2dShape& s, const float* dy, const float* w, const float* prepared, float* dx,
                           void* workspace);
template <class Products>
void conv2d_backward_weights_part(const Conv2dShape& s, Range taps, const float* x, const float* dy, float* dw,
                                  float* dbias, void* workspace);
template <class Products>
void conv2d_backward_weights(const Conv2dShape& s, const float* x, const float* dy, float* dw, float* dbias,
                             void* workspace);

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
