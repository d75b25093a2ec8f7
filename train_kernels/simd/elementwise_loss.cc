// Elementwise losses. Contracts: tables/elementwise_loss.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/elementwise_loss.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/simd/math_inl.h"
#include "train_kernels/simd/sum_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/elementwise_loss.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

struct LossAndSlope {
  Vector loss, slope;
};

HWY_INLINE Vector sign_of(Vector d) {
  return hn::IfThenElseZero(hn::Ne(d, hn::Zero(Tag())), hn::CopySign(splat(1), d));
}

struct Squared {
  HWY_INLINE LossAndSlope operator()(Vector y, Vector t, Vector) const {
    const Vector d = hn::Sub(y, t);
    return {hn::Mul(d, d), hn::Add(d, d)};
  }
};

struct Absolute {
  HWY_INLINE LossAndSlope operator()(Vector y, Vector t, Vector) const {
    const Vector d = hn::Sub(y, t);
    return {hn::Abs(d), sign_of(d)};
  }
};

struct Huber {
  HWY_INLINE LossAndSlope operator()(Vector y, Vector t, Vector threshold) const {
    const Vector d = hn::Sub(y, t), size = hn::Abs(d), half = splat(0.5f);
    const auto far = hn::Gt(size, threshold);
    // Beyond the threshold d: d (|e| - d / 2), which meets the parabola e^2 / 2 in value and slope.
    const Vector line = hn::Mul(threshold, hn::NegMulAdd(half, threshold, size));
    return {hn::IfThenElse(far, line, hn::Mul(half, hn::Mul(d, d))),
            hn::IfThenElse(far, hn::CopySign(threshold, d), d)};
  }
};

struct SmoothL1 {
  HWY_INLINE LossAndSlope operator()(Vector y, Vector t, Vector threshold) const {
    const Vector d = hn::Sub(y, t), size = hn::Abs(d), half = splat(0.5f);
    const auto near = hn::Lt(size, threshold);
    const Vector slope = hn::Div(d, threshold);
    return {hn::IfThenElse(near, hn::Mul(half, hn::Mul(d, slope)), hn::NegMulAdd(half, threshold, size)),
            hn::IfThenElse(near, slope, sign_of(d))};
  }
};

struct BinaryCrossEntropy {
  HWY_INLINE LossAndSlope operator()(Vector y, Vector t, Vector) const {
    // As in PyTorch: a logarithm is at least -100, and the slope's divisor y (1 - y) at least 1e-12, so that a certain
    // and wrong prediction has a finite loss.
    const Vector one = splat(1), lowest = splat(-100), rest = hn::Sub(one, y);
    const Vector yes = at_least(lowest, log(y)), no = at_least(lowest, log(rest));
    const Vector loss = hn::Neg(hn::MulAdd(t, yes, hn::Mul(hn::Sub(one, t), no)));
    return {loss, hn::Div(hn::Sub(y, t), at_least(splat(1e-12f), hn::Mul(y, rest)))};
  }
};

struct BinaryCrossEntropyWithLogits {
  HWY_INLINE LossAndSlope operator()(Vector y, Vector t, Vector) const {
    // max(y, 0) - y t + log(1 + e^-|y|): the exponent is never above 0, so that nothing overflows.
    const Vector tail = log1p_of_fraction(exp(hn::Neg(hn::Abs(y))));
    return {hn::Add(hn::NegMulAdd(y, t, at_least(hn::Zero(Tag()), y)), tail), hn::Sub(logistic(y), t)};
  }
};

struct KlDivergence {
  HWY_INLINE LossAndSlope operator()(Vector y, Vector t, Vector) const {
    // y is a logarithm of probabilities. t log t is 0 at t = 0, where floats would make NaN of it.
    const Vector loss = hn::Mul(t, hn::Sub(log(t), y));
    return {hn::IfThenZeroElse(hn::Eq(t, hn::Zero(Tag())), loss), hn::Neg(t)};
  }
};

// Targets are floats or integers.
template <class Lanes>
HWY_INLINE Vector load_targets(const Lanes& lanes, const float* t) {
  return lanes.load(t);
}
template <class Lanes>
HWY_INLINE Vector load_targets(const Lanes& lanes, const int32_t* t) {
  const Vector bits = lanes.load(reinterpret_cast<const float*>(t));  // loads move bits, whatever they mean
  return hn::ConvertTo(Tag(), hn::BitCast(IntTag(), bits));
}

template <class Loss, typename Target>
struct LossTerm {
  const float* y;
  const Target* targets;
  float* dy;
  Vector scale, threshold;

  template <class Lanes>
  HWY_INLINE void add(const Lanes& lanes, size_t i, Vector* sums) const {
    const LossAndSlope at = Loss()(lanes.load(y + i), load_targets(lanes, targets + i), threshold);
    sums[0] = hn::Add(sums[0], lanes.clear_rest(at.loss));
    if (dy != nullptr) lanes.store(hn::Mul(scale, at.slope), dy + i);
  }
};

template <class Loss, typename Target>
double sum_of_losses(const ElementLossShape& s, const float* y, const Target* targets, float scale, float* dy) {
  double sum[1] = {};
  run_sums(s.rows * s.width, LossTerm<Loss, Target>{y, targets, dy, splat(scale), splat(s.threshold)}, sum);
  return sum[0];
}

template <typename Target>
double sum_of_kind(const ElementLossShape& s, const float* y, const Target* targets, float scale, float* dy) {
  switch (s.kind) {
    case ElementLoss::squared: return sum_of_losses<Squared>(s, y, targets, scale, dy);
    case ElementLoss::absolute: return sum_of_losses<Absolute>(s, y, targets, scale, dy);
    case ElementLoss::huber: return sum_of_losses<Huber>(s, y, targets, scale, dy);
    case ElementLoss::smooth_l1: return sum_of_losses<SmoothL1>(s, y, targets, scale, dy);
    case ElementLoss::binary_cross_entropy: return sum_of_losses<BinaryCrossEntropy>(s, y, targets, scale, dy);
    case ElementLoss::binary_cross_entropy_with_logits:
      return sum_of_losses<BinaryCrossEntropyWithLogits>(s, y, targets, scale, dy);
    case ElementLoss::kl_divergence: break;
  }
  return sum_of_losses<KlDivergence>(s, y, targets, scale, dy);
}

// y, targets, dy: [rows, width]; dy may be null. The sum is over everything, as every row has the same weight.
template <typename Target>
void element_loss(const ElementLossShape& s, const float* y, const Target* targets, float scale, float* dy,
                  LossSums* sums) {
  const float share = s.kind == ElementLoss::kl_divergence ? 1.0f : 1.0f / static_cast<float>(s.width);
  const double divisor = s.kind == ElementLoss::kl_divergence ? 1 : static_cast<double>(s.width);
  sums->loss += sum_of_kind(s, y, targets, scale * share, dy) / divisor;
  const bool logits = s.kind == ElementLoss::binary_cross_entropy_with_logits;
  if (s.width != 1 || (!logits && s.kind != ElementLoss::binary_cross_entropy)) return;
  const float border = logits ? 0.0f : 0.5f;
  for (size_t i = 0; i < s.rows; ++i) {
    sums->correct += (y[i] > border) == (static_cast<float>(targets[i]) > 0.5f) ? 1 : 0;
  }
}

}  // namespace

void fill_elementwise_loss_target(ElementwiseLossKernels<float>& table) {
  COT_SET(element_loss, element_loss<float>);
  COT_SET(element_loss_of_labels, element_loss<int32_t>);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(elementwise_loss, ElementwiseLossKernels)
}  // namespace coterie::kernels::simd
#endif
