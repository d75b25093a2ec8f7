// Element-wise kernels. Contracts: tables/elementwise.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/elementwise.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/simd/map_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/elementwise.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

struct Relu {
  HWY_INLINE Vector operator()(Vector x) const { return at_least(hn::Zero(Tag()), x); }
};
struct ReluGradient {
  HWY_INLINE Vector operator()(Vector y, Vector dy) const {
    return hn::IfThenElseZero(hn::Gt(y, hn::Zero(Tag())), dy);
  }
};
struct Sum {
  HWY_INLINE Vector operator()(Vector a, Vector b) const { return hn::Add(a, b); }
};

void relu_forward(size_t n, const float* x, float* y) { map(n, y, Relu(), x); }
void relu_backward(size_t n, const float* y, const float* dy, float* dx) { map(n, dx, ReluGradient(), y, dy); }
void add(size_t n, const float* a, const float* b, float* y) { map(n, y, Sum(), a, b); }
void accumulate(size_t n, const float* x, float* y) { map(n, y, Sum(), x, y); }

}  // namespace

void fill_elementwise_target(ElementwiseKernels<float>& table) {
  table.relu_forward = relu_forward;
  table.relu_backward = relu_backward;
  table.add = add;
  table.accumulate = accumulate;
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(elementwise, ElementwiseKernels)
}  // namespace coterie::kernels::simd
#endif
