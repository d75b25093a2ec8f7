// The families of kernels whose products may be of operands rounded to bfloat16 (products_inl.h), as targets.h has all
// families. Included after highway.h.
#pragma once

#include "train_kernels/simd/targets.h"

// X(family, struct of tables/<family>.h) for each.
#define COT_BFLOAT16_FAMILIES(X) \
  X(dense, DenseKernels)         \
  X(conv2d, Conv2dKernels)       \
  X(rnn, RnnKernels)

// Whether this build has them at all: with AVX-512, and not where size counts.
#define COT_HAS_BFLOAT16 0
#if defined(HWY_TARGETS) && !defined(__OPTIMIZE_SIZE__)
#if HWY_TARGETS & HWY_AVX3
#undef COT_HAS_BFLOAT16
#define COT_HAS_BFLOAT16 1
#endif
#endif

namespace coterie::kernels::simd {

#define COT_DECLARE_BFLOAT16_FILL(family, Kernels) void fill_##family##_bfloat16(Kernels<float>& table);
COT_BFLOAT16_FAMILIES(COT_DECLARE_BFLOAT16_FILL)
#undef COT_DECLARE_BFLOAT16_FILL

}  // namespace coterie::kernels::simd

// In `#if HWY_ONCE`: calls the fill_<family>_bfloat16_target of AVX-512.
#if COT_HAS_BFLOAT16
#define COT_DEFINE_BFLOAT16_FILL(family, Kernels) \
  void fill_##family##_bfloat16(Kernels<float>& table) { N_AVX3::fill_##family##_bfloat16_target(table); }
#else
#define COT_DEFINE_BFLOAT16_FILL(family, Kernels)
#endif
