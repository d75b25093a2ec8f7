// Batches of matrix products on gemm.cc's tiles. Contracts: tables/matmul.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/matmul.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/simd/gemm_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/matmul.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

// One large product instead of many small ones where the batch lies behind the rows, or down the columns, of A.
MatmulShape folded(const MatmulShape& s) {
  MatmulShape one = s;
  const bool a_is_dense = s.a_stride == s.m * s.k, b_is_dense = s.b_stride == s.k * s.n;
  // [batch, m, k] times one [k, n] is [batch * m, k] times it. A sum over the batch of [k, m]^T [k, n] is one product
  // with [batch * k] terms.
  if (s.b_stride == 0 && !s.transpose_a && a_is_dense && s.c_stride == s.m * s.n) {
    one.m = s.m * s.batch;
  } else if (s.c_stride == 0 && s.transpose_a && !s.transpose_b && a_is_dense && b_is_dense) {
    one.k = s.k * s.batch;
  } else {
    return s;
  }
  one.batch = 1;
  return one;
}

// a: batch of [m, k], or [k, m] if transposed; b: batch of [k, n], or [n, k]; c: batch of [m, n]. A stride of 0 is one
// matrix for all: such a b is packed once, and such a c is the sum.
void matmul(const MatmulShape& shape, const float* a, const float* b, float* c, void* workspace) {
  const MatmulShape s = folded(shape);
  const bool pack = s.transpose_b || worth_packing(s.m, s.n);
  Scratch scratch(workspace);
  float* packed = pack ? scratch.take<float>(packed_b_floats(s.k, s.n)) : nullptr;
  float* buffer = scratch.take<float>(packed_a_floats(s.m, s.k));
  MatrixB right{};
  for (size_t i = 0; i < s.batch; ++i, a += s.a_stride, b += s.b_stride, c += s.c_stride) {
    if (i == 0 || s.b_stride != 0) {
      right = s.transpose_b ? pack_b_transposed(s.k, s.n, b, s.k, packed)
              : pack        ? pack_b(s.k, s.n, b, s.n, packed)
                            : plain_b(s.n, b, s.n);
    }
    const MatrixA left{a,       {nullptr, static_cast<ptrdiff_t>(s.transpose_a ? 1 : s.k)},
                       nullptr, 1,
                       s.k,     static_cast<ptrdiff_t>(s.transpose_a ? s.m : 1),
                       buffer};
    gemm(s.m, s.n, left, right, {c, {nullptr, static_cast<ptrdiff_t>(s.n)}},
         {.accumulate = s.accumulate || (s.c_stride == 0 && i > 0), .scale = s.alpha});
  }
}

}  // namespace

void fill_matmul_target(MatmulKernels<float>& table) { COT_SET(matmul, matmul); }

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(matmul, MatmulKernels)
}  // namespace coterie::kernels::simd
#endif
