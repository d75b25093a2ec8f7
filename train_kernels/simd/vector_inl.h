// What every SIMD source shares: the vector type and loads and stores of part of a vector. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_VECTOR_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_VECTOR_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_VECTOR_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
inline constexpr size_t kLanes = HWY_LANES(float);

// Registers decide the size of the matrix kernels' tiles: AVX-512 and NEON have 32, AVX2 and SSE4 16.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_EMU128
inline constexpr size_t kRegisters = 16;
#else
inline constexpr size_t kRegisters = 32;
#endif

// AVX's masked moves never touch memory behind the mask; elsewhere a partial vector goes through a buffer.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
inline constexpr bool kMaskedMoves = true;
#else
inline constexpr bool kMaskedMoves = false;
#endif

// The first n floats at p, zeros after; n in [1, kLanes].
HWY_INLINE Vector load_n(const float* p, size_t n) {
  const Tag d;
  if constexpr (kMaskedMoves) return hn::MaskedLoad(hn::FirstN(d, n), d, p);
  HWY_ALIGN float buffer[kLanes] = {};
  std::memcpy(buffer, p, n * sizeof(float));
  return hn::Load(d, buffer);
}

// Stores the first n lanes; n in [1, kLanes].
HWY_INLINE void store_n(Vector v, float* p, size_t n) {
  const Tag d;
  if constexpr (kMaskedMoves) {
    hn::BlendedStore(v, hn::FirstN(d, n), d, p);
  } else {
    HWY_ALIGN float buffer[kLanes];
    hn::Store(v, d, buffer);
    std::memcpy(p, buffer, n * sizeof(float));
  }
}

// max(x, 0) that keeps NaN.
HWY_INLINE Vector relu(Vector x) {
  const Tag d;
  return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
