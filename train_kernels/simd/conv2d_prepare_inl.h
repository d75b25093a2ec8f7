// A convolution's weights as its products read them. Contracts: tables/conv2d.h; the kernels in conv2d_prepare.cc.
// Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_CONV2D_PREPARE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_CONV2D_PREPARE_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_CONV2D_PREPARE_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_CONV2D_PREPARE_INL_H_
#endif

#include "train_kernels/range.h"
#include "train_kernels/shapes.h"
#include "train_kernels/simd/products_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

template <class Products>
void conv2d_prepare_forward(const Conv2dShape& s, Range channels, const float* w, float* prepared);
template <class Products>
void conv2d_prepare_backward_input(const Conv2dShape& s, Range filters, const float* w, float* prepared);

// w turned half round, of one group: tap t of channel c and filter o is tap taps - 1 - t of filter o and channel c. The
// rows of these filters, and the columns of these channels, into panels.
template <class Products>
void pack_turned(const Conv2dShape& s, size_t group, Range filters, Range channels, const float* w, float* to);

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
