// Which matrix product the layers are made of: that of float32, or, on a CPU that has it, that of operands rounded to
// bfloat16. What a layer does around its products is written once, for either. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_PRODUCTS_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_PRODUCTS_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_PRODUCTS_INL_H_
#endif

#include "train_kernels/simd/gemm_bfloat16_inl.h"
#include "train_kernels/simd/gemm_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// For products of B with so many columns in all, whatever part of them a call has.
struct Float32Products {
  static constexpr bool kTurnsFewRows = true;  // dx of few rows is a loop of its own, in gemm's order

  explicit HWY_INLINE Float32Products(size_t) {}
  HWY_INLINE MatrixB packed(size_t k, size_t n, const float* from) const { return packed_b(k, n, from); }
  HWY_INLINE void pack_rows(size_t k, size_t n, Range rows, const float* b, size_t row_stride, float* to) const {
    pack_b_rows(k, n, rows, b, row_stride, to);
  }
  HWY_INLINE void pack_transposed_rows(size_t k, size_t n, Range rows, const float* from, size_t row_stride,
                                       float* to) const {
    pack_b_transposed_rows(k, n, rows, from, row_stride, to);
  }
  HWY_INLINE void multiply(size_t m, size_t n, const MatrixA& a, const MatrixB& b, const MatrixC& c,
                           const Finish& finish) const {
    gemm(m, n, a, b, c, finish);
  }
};

#if COT_TARGET_HAS_BFLOAT16
// Rounding A takes as long as a vector of AVX-512's columns saves: fewer than two are float32's. The same on every CPU,
// so that what is rounded does not depend on it.
struct Bfloat16Products {
  static constexpr bool kTurnsFewRows = false;

  explicit HWY_INLINE Bfloat16Products(size_t columns) : pays(columns > kLanesMax), plain(columns) {}
  HWY_INLINE MatrixB packed(size_t k, size_t n, const float* from) const {
    return pays ? packed_bfloat16(k, n, from) : plain.packed(k, n, from);
  }
  HWY_INLINE void pack_rows(size_t k, size_t n, Range rows, const float* b, size_t row_stride, float* to) const {
    if (pays) pack_bfloat16(k, n, rows, b, row_stride, to);
    else plain.pack_rows(k, n, rows, b, row_stride, to);
  }
  HWY_INLINE void pack_transposed_rows(size_t k, size_t n, Range rows, const float* from, size_t row_stride,
                                       float* to) const {
    if (pays) pack_bfloat16_transposed(k, n, rows, from, row_stride, to);
    else plain.pack_transposed_rows(k, n, rows, from, row_stride, to);
  }
  HWY_INLINE void multiply(size_t m, size_t n, const MatrixA& a, const MatrixB& b, const MatrixC& c,
                           const Finish& finish) const {
    if (pays) gemm_bfloat16(m, n, a, b, c, finish);
    else plain.multiply(m, n, a, b, c, finish);
  }

  bool pays;
  Float32Products plain;
};
#endif

// All of B[k, n], and of B = (from[n, ..])^T.
template <class Products>
HWY_INLINE MatrixB pack_all(const Products& products, size_t k, size_t n, const float* b, size_t row_stride,
                            float* to) {
  products.pack_rows(k, n, {0, k}, b, row_stride, to);
  return products.packed(k, n, to);
}
template <class Products>
HWY_INLINE MatrixB pack_all_transposed(const Products& products, size_t k, size_t n, const float* from,
                                       size_t row_stride, float* to) {
  products.pack_transposed_rows(k, n, {0, k}, from, row_stride, to);
  return products.packed(k, n, to);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
