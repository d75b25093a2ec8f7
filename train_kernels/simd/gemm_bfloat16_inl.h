// The matrix product of operands rounded to bfloat16, summed in float32: by vdpbf16ps of AVX-512 (gemm_bfloat16.cc) or
// by bfmmla of 64-bit ARM (gemm_bfloat16_arm.cc). Called on a CPU that has it (cpu_targets.h). The forms of A, B and C:
// gemm_inl.h.
//
// A and B are rounded to the nearest bfloat16, ties to even; numbers below 2^-126 count as 0, in operands and in sums.
// (Where the thread does not flush denormal numbers, bfmmla takes as 2^-126 those that round to it.) A product of two
// is exact. k is taken in pairs:
//
//   vdpbf16ps   sum = near(near(sum + a[1] b[1]) + a[0] b[0])      near: to the nearest float32, ties to even
//   bfmmla      sum = odd(sum + odd(a[0] b[0] + a[1] b[1]))        odd: cut to float32; if that lost anything, the last
//                                                                  bit is set
//
// Pieces of k are summed apart, as in gemm: of at most kDepth, whole groups (see kGroup) but for the last. So the bits
// of a result depend on its own row and column alone, as there.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_GEMM_BFLOAT16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_GEMM_BFLOAT16_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_GEMM_BFLOAT16_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_GEMM_BFLOAT16_INL_H_
#endif

#include "train_kernels/range.h"
#include "train_kernels/simd/bfloat16_targets.h"
#include "train_kernels/simd/gemm_inl.h"

#if COT_TARGET_HAS_BFLOAT16

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// Neighbours of k that lie together, 16 bits each, the first one lowest; behind the last of all there are zeros.
constexpr size_t kGroup = HWY_TARGET == HWY_AVX3 ? 2 : 4;
constexpr size_t groups_of(size_t k) { return (k + kGroup - 1) / kGroup; }

// B[k, n] in panels of groups, half of what packed_b_floats counts. A row_stride of 0 says so. One row of groups of
// four would take more than float32: it stays that.
HWY_INLINE MatrixB packed_bfloat16(size_t k, size_t n, const float* packed) {
  if (kGroup > 2 && k == 1) return packed_b(k, n, packed);
  return {packed, 0, groups_of(k) * (kGroup / 2) * panel_of(n), panel_of(n)};
}

// Rows of B[k, n], of which the first lies at `b`, into panels of groups. Parts may begin at any row.
void pack_bfloat16(size_t k, size_t n, Range rows, const float* b, size_t row_stride, float* to);
// Rows of B = (from[n, ..])^T; the first is the column at `from`.
void pack_bfloat16_transposed(size_t k, size_t n, Range rows, const float* from, size_t row_stride, float* to);

// C[m, n] (+)= A[m, K] B[K, n]. B: of packed_bfloat16, or float32 as it lies or in pack_b's panels. A's buffer is
// unused.
void gemm_bfloat16(size_t m, size_t n, const MatrixA& a, const MatrixB& b, const MatrixC& c, const Finish& finish);

// The parts of A's runs in [begin, end) of k.
struct RunParts {
  RunParts(const MatrixA& matrix, size_t begin, size_t last)
      : a(matrix), k(begin), end(last), run(begin / a.run_length), from(begin % a.run_length) {}

  bool is_done() const { return k == end; }
  size_t count() const { return HWY_MIN(a.run_length - from, end - k); }
  // Where the part lies behind its row.
  ptrdiff_t at() const { return (a.runs == nullptr ? 0 : a.runs[run]) + static_cast<ptrdiff_t>(from) * a.step; }
  void next() {
    k += count();
    from = 0;
    ++run;
  }

  const MatrixA& a;
  size_t k, end, run, from;
};

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
#endif
