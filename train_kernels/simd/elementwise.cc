// Element-wise kernels. Contracts: tables/elementwise.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/elementwise.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/kernel_table.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/simd/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

// y[i] = op(a[i]...) over n floats. The functors are structs, not lambdas: GCC compiles a lambda's body for the
// baseline.
template <class Op, typename... Inputs>
HWY_INLINE void map(size_t n, float* y, const Op& op, const Inputs*... inputs) {
  const Tag d;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(op(hn::LoadU(d, inputs + i)...), d, y + i);
  if (i < n) store_n(op(load_n(inputs + i, n - i)...), y + i, n - i);
}

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

void fill_elementwise_target(KernelTable& table) {
  table.relu_forward = relu_forward;
  table.relu_backward = relu_backward;
  table.add = add;
  table.accumulate = accumulate;
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(elementwise)
}  // namespace coterie::kernels::simd
#endif
