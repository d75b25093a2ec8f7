// The families of kernels whose products may be of operands rounded to bfloat16 (products_inl.h), as targets.h has all
// families. Included after highway.h.
#pragma once

#include "train_kernels/simd/targets.h"

// X(family, struct of tables/<family>.h) for each.
#define COT_BFLOAT16_FAMILIES(X) \
  X(dense, DenseKernels)         \
  X(conv2d, Conv2dKernels)       \
  X(rnn, RnnKernels)

// Whether this build has them at all: with AVX-512 or for 64-bit ARM, and not where size counts.
#define COT_HAS_BFLOAT16 0
#if defined(HWY_TARGETS) && !defined(__OPTIMIZE_SIZE__)
#if (HWY_TARGETS & HWY_AVX3) || (HWY_ARCH_ARM_A64 && (HWY_TARGETS & HWY_NEON))
#undef COT_HAS_BFLOAT16
#define COT_HAS_BFLOAT16 1
#endif
#endif
// Whether the target that is compiled now is the one that has them.
#define COT_TARGET_HAS_BFLOAT16 \
  (COT_HAS_BFLOAT16 && (HWY_TARGET == HWY_AVX3 || (HWY_ARCH_ARM_A64 && HWY_TARGET == HWY_NEON)))

namespace coterie::kernels::simd {

#define COT_DECLARE_BFLOAT16_FILL(family, Kernels) void fill_##family##_bfloat16(Kernels<float>& table);
COT_BFLOAT16_FAMILIES(COT_DECLARE_BFLOAT16_FILL)
#undef COT_DECLARE_BFLOAT16_FILL

}  // namespace coterie::kernels::simd

// In `#if HWY_ONCE`: calls the fill_<family>_bfloat16_target of that target.
#if COT_HAS_BFLOAT16
#if HWY_ARCH_ARM_A64
#define COT_BFLOAT16_NAMESPACE N_NEON
#else
#define COT_BFLOAT16_NAMESPACE N_AVX3
#endif
#define COT_DEFINE_BFLOAT16_FILL(family, Kernels)                   \
  void fill_##family##_bfloat16(Kernels<float>& table) {            \
    COT_BFLOAT16_NAMESPACE::fill_##family##_bfloat16_target(table); \
  }
#else
#define COT_DEFINE_BFLOAT16_FILL(family, Kernels)
#endif
