// What every SIMD source shares: the vector type and loads and stores of part of a vector. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_VECTOR_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_VECTOR_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_VECTOR_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"
#include "train_kernels/lanes.h"
#include "train_kernels/shapes.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
inline constexpr size_t kLanes = HWY_LANES(float);
static_assert(kLanes <= kLanesMax);

// Registers decide the size of the matrix kernels' tiles: AVX-512 and NEON have 32, AVX2 and SSE4 16.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
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

// The first n lanes of a vector, n in [1, kLanes]: the mask is made once, before a loop.
class Part {
 public:
  explicit Part(size_t n) : n_(n), mask_(hn::FirstN(Tag(), n)) {}

  // The floats at p, zeros after.
  HWY_INLINE Vector load(const float* p) const {
    if constexpr (kMaskedMoves) return hn::MaskedLoad(mask_, Tag(), p);
    HWY_ALIGN float buffer[kLanes] = {};
    std::memcpy(buffer, p, n_ * sizeof(float));
    return hn::Load(Tag(), buffer);
  }
  HWY_INLINE void store(Vector v, float* p) const {
#if HWY_TARGET == HWY_AVX2 && !defined(__OPTIMIZE_SIZE__)
    // A masked store of AVX2 (vmaskmovps) is dozens of micro-operations on AMD's CPUs; up to three pieces are fewer.
    const hn::FixedTag<float, 4> half;
    const hn::FixedTag<float, 2> quarter;
    auto part = hn::LowerHalf(half, v);
    if (n_ & 4) {
      hn::StoreU(part, half, p);
      part = hn::UpperHalf(half, v);
    }
    if (n_ & 2) {
      hn::StoreU(hn::LowerHalf(quarter, part), quarter, p + (n_ & 4));
      part = hn::Shuffle1032(part);
    }
    if (n_ & 1) p[n_ - 1] = hn::GetLane(part);
    if (n_ == kLanes) hn::StoreU(v, Tag(), p);
    return;
#endif
    if constexpr (kMaskedMoves) {
      hn::BlendedStore(v, mask_, Tag(), p);
    } else {
      HWY_ALIGN float buffer[kLanes];
      hn::Store(v, Tag(), buffer);
      std::memcpy(p, buffer, n_ * sizeof(float));
    }
  }
  // v with zeros behind the part.
  HWY_INLINE Vector clear_rest(Vector v) const { return hn::IfThenElseZero(mask_, v); }

 private:
  size_t n_;
  hn::Mask<Tag> mask_;
};

HWY_INLINE Vector load_n(const float* p, size_t n) { return Part(n).load(p); }
HWY_INLINE void store_n(Vector v, float* p, size_t n) { Part(n).store(v, p); }

// max(x, lowest) that keeps NaN.
HWY_INLINE Vector at_least(Vector lowest, Vector x) { return hn::IfThenElse(hn::Lt(x, lowest), lowest, x); }
// min(x, highest) that keeps NaN.
HWY_INLINE Vector at_most(Vector highest, Vector x) { return hn::IfThenElse(hn::Gt(x, highest), highest, x); }

HWY_INLINE Vector activated(Activation activation, Vector x) {
  if (activation == Activation::none) return x;
  x = at_least(hn::Zero(Tag()), x);
  return activation == Activation::relu ? x : at_most(hn::Set(Tag(), 6.0f), x);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
