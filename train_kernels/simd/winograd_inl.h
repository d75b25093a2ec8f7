// 3 x 3 convolution with fewer multiplies. Contracts: conv2d_algorithm.h, tables/conv2d.h; the kernels in
// winograd.cc. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_WINOGRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_WINOGRAD_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_WINOGRAD_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_WINOGRAD_INL_H_
#endif

#include "train_kernels/range.h"
#include "train_kernels/shapes.h"
#include "train_kernels/simd/products_inl.h"
#include "train_kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// The transformed weights of these channels, of every position in its turn; of weights that are still to be turned
// half round (conv2d_backward_input) if `turn`.
void winograd_prepare(const Conv2dShape& s, Range channels, size_t outputs, bool turn, const float* w, float* prepared);
// conv2d_forward by F(outputs x outputs, 3 x 3), outputs 2 or 4; of one image, or all rows.
template <class Products>
void winograd_forward(const Conv2dShape& s, Range rows, size_t outputs, const float* x, const float* prepared,
                      const float* bias, Activation activation, float* y, Scratch& scratch);

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
