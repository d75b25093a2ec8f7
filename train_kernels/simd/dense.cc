// Dense layer: three matrix products.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/dense.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/simd/bfloat16_targets.h"
#include "train_kernels/simd/dense_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/dense.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

namespace {

template <class Products>
void fill_with(DenseKernels<float>& table) {
  table.dense_prepare_forward = dense_prepare_forward<Products>;
  table.dense_prepare_backward_input = dense_prepare_backward_input<Products>;
  table.dense_forward = dense_forward<Products>;
  table.dense_backward_input = dense_backward_input<Products>;
  table.dense_backward_weights = dense_backward_weights<Products>;
  table.dense_backward_weights_part = dense_backward_weights_part<Products>;
}

}  // namespace

void fill_dense_target(DenseKernels<float>& table) { fill_with<Float32Products>(table); }
#if COT_TARGET_HAS_BFLOAT16
void fill_dense_bfloat16_target(DenseKernels<float>& table) { fill_with<Bfloat16Products>(table); }
#endif

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(dense, DenseKernels)
COT_DEFINE_BFLOAT16_FILL(dense, DenseKernels)
}  // namespace coterie::kernels::simd
#endif
