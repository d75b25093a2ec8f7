// A convolution with few filters would leave most lanes of a vector idle. But filters of neighbouring pixels are
// neighbours in y, so `pixels` output pixels of a row can be computed as one pixel with `pixels` times the filters: the
// same convolution with a wider kernel, in which each copy of the filters stands one stride further right among zeros.
//
//   kernel_w' = kernel_w + (pixels - 1) stride_w     filters' = pixels * filters     stride_w' = pixels * stride_w
//
// LeNet's first layer (5 x 5, 6 filters, 16 lanes) takes 5 x 6 steps for two pixels instead of 5 x 5 for each. Compiled
// once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_WIDEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_WIDEN_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_WIDEN_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_WIDEN_INL_H_
#endif

#include <cstring>

#include "train_kernels/conv2d_algorithm.h"
#include "train_kernels/range.h"
#include "train_kernels/shapes.h"
#include "train_kernels/simd/gemm_inl.h"
#include "train_kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// What a step of k costs in a tile of so many vectors. With 16 registers a tile of one vector waits for the latency of
// its few sums, so that several pixels pay there that fill several vectors.
HWY_INLINE size_t step_cost(size_t vectors) { return kRegisters == 32 ? vectors : vectors < 3 ? 7 + vectors : 12; }
inline constexpr size_t kJoinedVectors = kRegisters == 32 ? 1 : HWY_MIN(kTileVectors, size_t{3});  // one panel
static_assert(kJoinedVectors * kLanes <= kJoinedMax);

// How many output pixels to compute as one: as many as cost least; they divide a row and fit the vectors of a panel.
HWY_INLINE size_t pixels_to_join(const Conv2dShape& s) {
  if (s.groups != 1 || s.dilation_w != 1) return 1;
  size_t best = 1, best_cost = s.kernel_w * step_cost((s.filters + kLanes - 1) / kLanes);
  for (size_t pixels = 2; pixels * s.filters <= kJoinedVectors * kLanes; ++pixels) {
    if (s.out_w() % pixels != 0) continue;
    const size_t vectors = (pixels * s.filters + kLanes - 1) / kLanes;
    const size_t cost = (s.kernel_w + (pixels - 1) * s.stride_w) * step_cost(vectors);
    if (cost * best >= best_cost * pixels) continue;
    best = pixels;
    best_cost = cost;
  }
  return best;
}

HWY_INLINE Conv2dShape widened(const Conv2dShape& s, size_t pixels) {
  Conv2dShape wide = s;
  wide.kernel_w = s.kernel_w + (pixels - 1) * s.stride_w;
  wide.filters = s.filters * pixels;
  wide.stride_w = s.stride_w * pixels;
  return wide;
}

// Calls visit(offset in w, offset in the wide w) for every row of filters of every copy.
template <class Visit>
HWY_INLINE void for_each_copy(const Conv2dShape& s, size_t pixels, const Visit& visit) {
  const Conv2dShape wide = widened(s, pixels);
  for (size_t kh = 0; kh < s.kernel_h; ++kh) {
    for (size_t kw = 0; kw < s.kernel_w; ++kw) {
      for (size_t c = 0; c < s.channels; ++c) {
        const size_t from = ((kh * s.kernel_w + kw) * s.channels + c) * s.filters;
        for (size_t p = 0; p < pixels; ++p) {
          const size_t tap = (kh * wide.kernel_w + kw + p * s.stride_w) * s.channels + c;
          visit(from, tap * wide.filters + p * s.filters);
        }
      }
    }
  }
}

struct CopyWeights {
  const float* w;
  float* wide;
  size_t filters;
  HWY_INLINE void operator()(size_t from, size_t to) const {
    std::memcpy(wide + to, w + from, filters * sizeof(float));
  }
};

struct AddGradients {
  const float* wide;
  float* dw;
  size_t filters;
  Range taps;
  HWY_INLINE void operator()(size_t to, size_t from) const {
    if (to < taps.begin * filters || to >= taps.end * filters) return;
    for (size_t o = 0; o < filters; ++o) dw[to + o] += wide[from + o];
  }
};

HWY_INLINE float* widen_weights(const Conv2dShape& s, size_t pixels, const float* w, Scratch& scratch) {
  const size_t count = widened(s, pixels).taps() * s.filters * pixels;
  float* wide = scratch.take<float>(count);
  std::memset(wide, 0, count * sizeof(float));
  for_each_copy(s, pixels, CopyWeights{w, wide, s.filters});
  return wide;
}

HWY_INLINE float* widen_bias(const Conv2dShape& s, size_t pixels, const float* bias, Scratch& scratch) {
  float* wide = scratch.take<float>(s.filters * pixels);
  for (size_t p = 0; p < pixels; ++p) std::memcpy(wide + p * s.filters, bias, s.filters * sizeof(float));
  return wide;
}

// The gradient of a weight is the sum of its copies' gradients. Rows `taps` of dw.
HWY_INLINE void narrow_gradients(const Conv2dShape& s, size_t pixels, Range taps, const float* wide, float* dw) {
  std::memset(dw + taps.begin * s.filters, 0, taps.size() * s.filters * sizeof(float));
  for_each_copy(s, pixels, AddGradients{wide, dw, s.filters, taps});
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
