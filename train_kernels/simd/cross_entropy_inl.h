// Cross-entropies of tables/loss.h that know weights, smoothing and ignored rows. Compiled once per target.
//
// With q[c] the weight of -log p[c] in a row's loss, the loss is the sum of q[c] (log sum exp(z) - z[c]) and
// its gradient p[c] sum(q) - q[c].
#if defined(COTERIE_TRAIN_KERNELS_SIMD_CROSS_ENTROPY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_CROSS_ENTROPY_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_CROSS_ENTROPY_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_CROSS_ENTROPY_INL_H_
#endif

#include <cmath>

#include "train_kernels/simd/math_inl.h"
#include "train_kernels/simd/sum_inl.h"
#include "train_kernels/tables/loss.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

struct Largest {
  float value;
  size_t index;  // of the first that is it; 0 if NaN hides it
};

HWY_INLINE Largest largest_of(size_t n, const float* values) {
  const Tag d;
  Vector top = splat(values[0]);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) top = hn::Max(top, hn::LoadU(d, values + i));
  float value = hn::GetLane(hn::MaxOfLanes(d, top));
  for (; i < n; ++i) value = values[i] > value ? values[i] : value;
  for (i = 0; i < n; ++i) {
    if (values[i] == value) return {value, i};
  }
  return {value, 0};
}

// to[c] = exp(z[c] - top), unless `to` is null, and its sum.
struct ShiftedExp {
  const float* z;
  float* to;
  Vector top;

  template <class Lanes>
  HWY_INLINE void add(const Lanes& lanes, size_t c, Vector* sums) const {
    const Vector e = exp(hn::Sub(lanes.load(z + c), top));
    sums[0] = hn::Add(sums[0], lanes.clear_rest(e));
    if (to != nullptr) lanes.store(e, to + c);
  }
};

// q[c] = weights[c] (spread + keep t[c]); null weights are ones, null targets zeros.
struct SpreadWeights {
  const float *weights, *targets;
  Vector spread, keep;

  template <class Lanes>
  HWY_INLINE Vector at(const Lanes& lanes, size_t c) const {
    const Vector q = targets == nullptr ? spread : hn::MulAdd(keep, lanes.load(targets + c), spread);
    return weights == nullptr ? q : hn::Mul(q, lanes.load(weights + c));
  }
};

// The sums of q[c] and of q[c] (top - z[c]); no weight, no loss, even where z is minus infinity.
struct WeightedDistance {
  const float* z;
  const SpreadWeights& weights;
  Vector top;

  template <class Lanes>
  HWY_INLINE void add(const Lanes& lanes, size_t c, Vector* sums) const {
    const Vector q = weights.at(lanes, c), below = hn::Mul(q, hn::Sub(top, lanes.load(z + c)));
    const Vector kept = hn::IfThenZeroElse(hn::Eq(q, hn::Zero(Tag())), below);
    sums[0] = hn::Add(sums[0], lanes.clear_rest(q));
    sums[1] = hn::Add(sums[1], lanes.clear_rest(kept));
  }
};

// dz[c] = exponentials[c] factor - scale q[c]; dz holds the exponentials.
struct RowGradient {
  float* dz;
  const SpreadWeights& weights;
  Vector factor, scale;

  template <class Lanes>
  HWY_INLINE void operator()(size_t c, const Lanes& lanes) const {
    const Vector share = hn::Mul(lanes.load(dz + c), factor);
    lanes.store(hn::NegMulAdd(scale, weights.at(lanes, c), share), dz + c);
  }
};

// One row; besides `weights`, q[label] gets `extra` more. Without targets and spread, `plain`, only that is
// left.
HWY_INLINE Largest cross_entropy_row(size_t classes, const float* z, const SpreadWeights& weights, bool plain,
                                     size_t label, float extra, float scale, float* dz, LossSums* sums) {
  const Largest best = largest_of(classes, z);
  const Vector top = splat(best.value);
  double exponentials[1] = {}, spread[2] = {};
  run_sums(classes, ShiftedExp{z, dz, top}, exponentials);
  if (!plain) run_sums(classes, WeightedDistance{z, weights, top}, spread);
  const double total = spread[0] + static_cast<double>(extra), log_sum = std::log(exponentials[0]);
  sums->loss += log_sum * total + spread[1];
  if (extra != 0) sums->loss += static_cast<double>(extra) * static_cast<double>(best.value - z[label]);
  if (dz == nullptr) return best;
  const Vector factor = splat(static_cast<float>(total / exponentials[0]) * scale);
  for_each_vector(classes, RowGradient{dz, weights, factor, splat(scale)});
  dz[label] -= scale * extra;
  return best;
}

HWY_INLINE double label_weight(size_t rows, const int32_t* labels, const float* class_weights) {
  double sum = 0;
  for (size_t row = 0; row < rows; ++row) {
    if (labels[row] < 0) continue;
    sum += class_weights == nullptr ? 1 : static_cast<double>(class_weights[labels[row]]);
  }
  return sum;
}

HWY_INLINE void cross_entropy(const ClassLoss<float>& s, const float* logits, const int32_t* labels, float scale,
                              float* d_logits, LossSums* sums) {
  const float spread = s.label_smoothing / static_cast<float>(s.classes);
  const SpreadWeights weights{s.class_weights, nullptr, splat(spread), splat(0)};
  for (size_t row = 0; row < s.rows; ++row) {
    float* dz = d_logits == nullptr ? nullptr : d_logits + row * s.classes;
    if (labels[row] < 0) {
      if (dz != nullptr) std::memset(dz, 0, s.classes * sizeof(float));
      continue;
    }
    const size_t label = static_cast<size_t>(labels[row]);
    const float weight = s.class_weights == nullptr ? 1 : s.class_weights[label];
    const Largest best = cross_entropy_row(s.classes, logits + row * s.classes, weights, spread == 0, label,
                                           (1 - s.label_smoothing) * weight, scale, dz, sums);
    sums->correct += best.index == label ? 1 : 0;
  }
}

HWY_INLINE void cross_entropy_of_targets(const ClassLoss<float>& s, const float* logits, const float* targets,
                                         float scale, float* d_logits, LossSums* sums) {
  const float spread = s.label_smoothing / static_cast<float>(s.classes);
  for (size_t row = 0; row < s.rows; ++row) {
    const float* t = targets + row * s.classes;
    float* dz = d_logits == nullptr ? nullptr : d_logits + row * s.classes;
    const SpreadWeights weights{s.class_weights, t, splat(spread), splat(1 - s.label_smoothing)};
    const Largest best = cross_entropy_row(s.classes, logits + row * s.classes, weights, false, 0, 0, scale, dz, sums);
    sums->correct += best.index == largest_of(s.classes, t).index ? 1 : 0;
  }
}

HWY_INLINE void negative_log_likelihood(const ClassLoss<float>& s, const float* x, const int32_t* labels, float scale,
                                        float* dx, LossSums* sums) {
  if (dx != nullptr) std::memset(dx, 0, s.rows * s.classes * sizeof(float));
  for (size_t row = 0; row < s.rows; ++row) {
    if (labels[row] < 0) continue;
    const size_t label = static_cast<size_t>(labels[row]), at = row * s.classes + label;
    const float weight = s.class_weights == nullptr ? 1 : s.class_weights[label];
    sums->loss -= static_cast<double>(weight) * static_cast<double>(x[at]);
    sums->correct += largest_of(s.classes, x + row * s.classes).index == label ? 1 : 0;
    if (dx != nullptr) dx[at] = -scale * weight;
  }
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
