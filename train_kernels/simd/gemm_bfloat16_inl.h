// The matrix product of operands rounded to bfloat16, summed in float32: vdpbf16ps, of AVX-512 alone. Called on a CPU
// that has AVX512_BF16 (cpu_targets.h). The forms of A, B and C: gemm_inl.h; the product itself: gemm_bfloat16.cc.
//
// A and B are rounded to the nearest bfloat16, ties to even; numbers below 2^-126 count as 0, in operands and in sums.
// k is taken in pairs, of each the odd one first, each product exact and each sum rounded to float32; pieces of k are
// summed apart, as in gemm. So the bits of a result depend on its own row and column alone, as there.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_GEMM_BFLOAT16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_GEMM_BFLOAT16_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_GEMM_BFLOAT16_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_GEMM_BFLOAT16_INL_H_
#endif

#include "train_kernels/range.h"
#include "train_kernels/simd/gemm_inl.h"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// Two neighbours of k are a word of 32 bits, the even one in its lower half; behind an odd k there is a zero.
constexpr size_t words_of(size_t k) { return (k + 1) / 2; }

// B[k, n] as words in panels, half of what packed_b_floats counts. A row_stride of 0 says that its rows are words.
HWY_INLINE MatrixB packed_words(size_t k, size_t n, const float* packed) {
  return {packed, 0, words_of(k) * panel_of(n), panel_of(n)};
}

// Rows of B[k, n], of which the first lies at `b`, into panels of words. Parts may begin at any row.
void pack_words(size_t k, size_t n, Range rows, const float* b, size_t row_stride, float* to);
// Rows of B = (from[n, ..])^T; the first is the column at `from`.
void pack_words_transposed(size_t k, size_t n, Range rows, const float* from, size_t row_stride, float* to);

// C[m, n] (+)= A[m, K] B[K, n]. B: of packed_words, or float32 as it lies or in pack_b's panels. A's buffer is unused.
void gemm_bfloat16(size_t m, size_t n, const MatrixA& a, const MatrixB& b, const MatrixC& c, const Finish& finish);

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
#endif
