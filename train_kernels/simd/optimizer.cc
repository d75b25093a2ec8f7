// Optimizer steps. Contracts: tables/optimizer.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/optimizer.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/kernel_table.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/simd/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

struct Sgd {
  Vector learning_rate, momentum, weight_decay;

  explicit Sgd(const SgdStep& step)
      : learning_rate(hn::Set(Tag(), step.learning_rate)),
        momentum(hn::Set(Tag(), step.momentum)),
        weight_decay(hn::Set(Tag(), step.weight_decay)) {}

  HWY_INLINE Vector change(Vector g, Vector w) const { return hn::MulAdd(weight_decay, w, g); }
  HWY_INLINE Vector velocity(Vector v, Vector change) const { return hn::MulAdd(momentum, v, change); }
  HWY_INLINE Vector weight(Vector w, Vector change) const { return hn::NegMulAdd(learning_rate, change, w); }
};

void sgd_step(size_t n, const SgdStep& step, const float* g, float* w, float* v) {
  const Tag d;
  const Sgd sgd(step);
  for (size_t i = 0; i < n; i += kLanes) {
    const size_t lanes = HWY_MIN(kLanes, n - i);
    const bool whole = lanes == kLanes;
    const Vector weight = whole ? hn::LoadU(d, w + i) : load_n(w + i, lanes);
    Vector change = sgd.change(whole ? hn::LoadU(d, g + i) : load_n(g + i, lanes), weight);
    if (v != nullptr) {
      change = sgd.velocity(whole ? hn::LoadU(d, v + i) : load_n(v + i, lanes), change);
      if (whole) hn::StoreU(change, d, v + i);
      else store_n(change, v + i, lanes);
    }
    const Vector moved = sgd.weight(weight, change);
    if (whole) hn::StoreU(moved, d, w + i);
    else store_n(moved, w + i, lanes);
  }
}

struct Adam {
  Vector beta1, rest1, beta2, rest2, epsilon, weight_decay, step_size, v_scale;

  explicit Adam(const AdamStep& step)
      : beta1(hn::Set(Tag(), step.beta1)),
        rest1(hn::Set(Tag(), 1 - step.beta1)),
        beta2(hn::Set(Tag(), step.beta2)),
        rest2(hn::Set(Tag(), 1 - step.beta2)),
        epsilon(hn::Set(Tag(), step.epsilon)),
        weight_decay(hn::Set(Tag(), step.weight_decay)),
        step_size(hn::Set(Tag(), step.step_size)),
        v_scale(hn::Set(Tag(), step.v_scale)) {}

  HWY_INLINE void operator()(Vector g, Vector& w, Vector& m, Vector& v) const {
    g = hn::MulAdd(weight_decay, w, g);
    m = hn::MulAdd(beta1, m, hn::Mul(rest1, g));
    v = hn::MulAdd(beta2, v, hn::Mul(rest2, hn::Mul(g, g)));
    const Vector root = hn::MulAdd(hn::Sqrt(v), v_scale, epsilon);
    w = hn::Sub(w, hn::Div(hn::Mul(step_size, m), root));
  }
};

void adam_step(size_t n, const AdamStep& step, const float* g, float* w, float* m, float* v) {
  const Tag d;
  const Adam adam(step);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Vector weight = hn::LoadU(d, w + i), first = hn::LoadU(d, m + i), second = hn::LoadU(d, v + i);
    adam(hn::LoadU(d, g + i), weight, first, second);
    hn::StoreU(weight, d, w + i);
    hn::StoreU(first, d, m + i);
    hn::StoreU(second, d, v + i);
  }
  if (i == n) return;
  const size_t rest = n - i;
  Vector weight = load_n(w + i, rest), first = load_n(m + i, rest), second = load_n(v + i, rest);
  adam(load_n(g + i, rest), weight, first, second);
  store_n(weight, w + i, rest);
  store_n(first, m + i, rest);
  store_n(second, v + i, rest);
}

}  // namespace

void fill_optimizer_target(KernelTable& table) {
  table.sgd_step = sgd_step;
  table.adam_step = adam_step;
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(optimizer)
}  // namespace coterie::kernels::simd
#endif
