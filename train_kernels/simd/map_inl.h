// Loops over vectors with a rest: one body for the whole vectors and for the part at the end. Compiled once
// per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_MAP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_MAP_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_MAP_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_MAP_INL_H_
#endif

#include "train_kernels/simd/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// A whole vector, with Part's members.
struct Whole {
  HWY_INLINE Vector load(const float* p) const { return hn::LoadU(Tag(), p); }
  HWY_INLINE void store(Vector v, float* p) const { hn::StoreU(v, Tag(), p); }
  HWY_INLINE Vector clear_rest(Vector v) const { return v; }
};

// body(i, lanes) for every vector of n floats from i, `lanes` a Whole or a Part. The functors are structs,
// not lambdas: GCC compiles a lambda's body for the baseline.
template <class Body>
HWY_INLINE void for_each_vector(size_t n, const Body& body) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, Whole());
  if (i < n) body(i, Part(n - i));
}

// y[i] = op(a[i]...) over n floats; y may be any of the inputs.
template <class Op, typename... Inputs>
HWY_INLINE void map(size_t n, float* y, const Op& op, const Inputs*... inputs) {
  const Tag d;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(op(hn::LoadU(d, inputs + i)...), d, y + i);
  if (i < n) store_n(op(load_n(inputs + i, n - i)...), y + i, n - i);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
