// Convolution with a large kernel by Fourier transforms. Contracts: fft_tiles.h, tables/conv2d.h; the kernels in
// fft_conv2d.cc. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_FFT_CONV2D_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_FFT_CONV2D_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_FFT_CONV2D_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_FFT_CONV2D_INL_H_
#endif

#include "train_kernels/range.h"
#include "train_kernels/shapes.h"
#include "train_kernels/simd/vector_inl.h"
#include "train_kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// conv2d_forward of a shape whose algorithm is Conv2dAlgorithm::fft; of one image, or all rows. turned: with the kernel
// turned half round (depthwise only: dX).
void fft_forward(const Conv2dShape& s, Range rows, const float* x, const float* w, bool turned, const float* bias,
                 Activation activation, float* y, Scratch& scratch);

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
