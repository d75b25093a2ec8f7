// Activations as bounds, for results that are still in registers. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_BOUNDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_BOUNDS_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_BOUNDS_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_BOUNDS_INL_H_
#endif

#include <limits>

#include "train_kernels/shapes.h"
#include "train_kernels/simd/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// What the activation makes of x, on x86 in two instructions whichever it is. NaN stays NaN.
struct Bounds {
  explicit HWY_INLINE Bounds(Activation activation)
      : lowest(hn::Set(Tag(), activation == Activation::none ? -kInfinity : 0.0f)),
        highest(hn::Set(Tag(), activation == Activation::relu6 ? 6.0f : kInfinity)) {}

  HWY_INLINE Vector operator()(Vector x) const {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
    return hn::Min(highest, hn::Max(lowest, x));  // of a NaN and a number these take the second operand
#else                                             // ARM's, as Highway has them, take the number
    return at_most(highest, at_least(lowest, x));
#endif
  }

  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Vector lowest, highest;
};

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
