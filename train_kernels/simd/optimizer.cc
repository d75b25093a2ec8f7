// Optimizer steps: each a rule for one vector, and one loop for all of them. Contracts: tables/optimizer.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/optimizer.cc"
#include "hwy/foreach_target.h"

#include "base/linear/inverse_root.h"
#include "train_kernels/simd/math_inl.h"
#include "train_kernels/simd/sum_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/optimizer.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

// Loads g, w and the moments that are there, asks the rule for what they become, stores all but g.
template <size_t kMoments, class Rule>
struct Update {
  const Rule& rule;
  const float* g;
  float* w;
  float* moments[kMoments];  // null: not kept

  template <class Lanes>
  HWY_INLINE void operator()(size_t i, const Lanes& lanes) const {
    Vector weight = lanes.load(w + i), kept[kMoments];
    for (size_t k = 0; k < kMoments; ++k) {
      kept[k] = moments[k] == nullptr ? hn::Zero(Tag()) : lanes.load(moments[k] + i);
    }
    rule(lanes.load(g + i), weight, kept);
    lanes.store(weight, w + i);
    for (size_t k = 0; k < kMoments; ++k) {
      if (moments[k] != nullptr) lanes.store(kept[k], moments[k] + i);
    }
  }
};

template <class Rule, typename... Moments>
HWY_INLINE void update(size_t n, const Rule& rule, const float* g, float* w, Moments... moments) {
  for_each_vector(n, Update<sizeof...(moments), Rule>{rule, g, w, {moments...}});
}

// decay * old + rest * now.
HWY_INLINE Vector mixed(Vector decay, Vector old, Vector rest, Vector now) {
  return hn::MulAdd(decay, old, hn::Mul(rest, now));
}

struct Sgd {
  Vector learning_rate, momentum, weight_decay;
  bool keeps, nesterov;

  HWY_INLINE void operator()(Vector g, Vector& w, Vector* moments) const {
    // Decay is part of the gradient, as in PyTorch's SGD: momentum carries it on.
    Vector change = hn::MulAdd(weight_decay, w, g);
    if (keeps) {
      moments[0] = hn::MulAdd(momentum, moments[0], change);
      change = nesterov ? hn::MulAdd(momentum, moments[0], change) : moments[0];
    }
    w = hn::NegMulAdd(learning_rate, change, w);
  }
};

// Here and below, gradient, weights and moments are [n]: a tensor or a piece of one.
void sgd_step(size_t n, const SgdStep& s, const float* g, float* w, float* v) {
  const Sgd rule{splat(s.learning_rate), splat(s.momentum), splat(s.weight_decay), v != nullptr, s.nesterov};
  update(n, rule, g, w, v);
}

// The two moments of Adam and its kin.
struct Moments {
  Vector beta1, rest1, beta2, rest2;

  Moments(float first, float second)
      : beta1(splat(first)), rest1(splat(1 - first)), beta2(splat(second)), rest2(splat(1 - second)) {}

  HWY_INLINE void operator()(Vector g, Vector& m, Vector& v) const {
    m = mixed(beta1, m, rest1, g);
    v = mixed(beta2, v, rest2, hn::Mul(g, g));
  }
};

// Adam's decay is part of the gradient, AdamW's shrinks the weight; the other one is 0.
struct Adam {
  Moments moments;
  Vector epsilon, weight_decay, shrink, step_size, v_scale;

  HWY_INLINE void operator()(Vector g, Vector& w, Vector* kept) const {
    moments(hn::MulAdd(weight_decay, w, g), kept[0], kept[1]);
    const Vector root = hn::MulAdd(hn::Sqrt(kept[1]), v_scale, epsilon);
    w = hn::Sub(hn::NegMulAdd(shrink, w, w), hn::Div(hn::Mul(step_size, kept[0]), root));
  }
};

void adam_step(size_t n, const AdamStep& s, const float* g, float* w, float* m, float* v) {
  const Adam rule{Moments(s.beta1, s.beta2), splat(s.epsilon), splat(s.weight_decay), splat(0),
                  splat(s.step_size),        splat(s.v_scale)};
  update(n, rule, g, w, m, v);
}

void adamw_step(size_t n, const AdamWStep& s, const float* g, float* w, float* m, float* v) {
  const Adam rule{Moments(s.beta1, s.beta2), splat(s.epsilon), splat(0), splat(s.decay),
                  splat(s.step_size),        splat(s.v_scale)};
  update(n, rule, g, w, m, v);
}

struct Adagrad {
  Vector learning_rate, epsilon, weight_decay;

  HWY_INLINE void operator()(Vector g, Vector& w, Vector* kept) const {
    const Vector change = hn::MulAdd(weight_decay, w, g);
    kept[0] = hn::MulAdd(change, change, kept[0]);
    w = hn::Sub(w, hn::Div(hn::Mul(learning_rate, change), hn::Add(hn::Sqrt(kept[0]), epsilon)));
  }
};

void adagrad_step(size_t n, const AdagradStep& s, const float* g, float* w, float* sum) {
  update(n, Adagrad{splat(s.learning_rate), splat(s.epsilon), splat(s.weight_decay)}, g, w, sum);
}

struct Rmsprop {
  Vector learning_rate, alpha, rest, epsilon, weight_decay, momentum;
  bool keeps, centred;

  HWY_INLINE void operator()(Vector g, Vector& w, Vector* kept) const {
    const Vector gradient = hn::MulAdd(weight_decay, w, g);
    kept[0] = mixed(alpha, kept[0], rest, hn::Mul(gradient, gradient));
    Vector variance = kept[0];
    if (centred) {
      kept[2] = mixed(alpha, kept[2], rest, gradient);
      // E[g^2] - E[g]^2 may round below 0, and its root would be NaN.
      variance = at_least(hn::Zero(Tag()), hn::NegMulAdd(kept[2], kept[2], kept[0]));
    }
    Vector change = hn::Div(gradient, hn::Add(hn::Sqrt(variance), epsilon));
    if (keeps) change = kept[1] = hn::MulAdd(momentum, kept[1], change);
    w = hn::NegMulAdd(learning_rate, change, w);
  }
};

void rmsprop_step(size_t n, const RmspropStep& s, const float* g, float* w, float* v, float* b, float* m) {
  const Rmsprop rule{splat(s.learning_rate), splat(s.alpha),    splat(1 - s.alpha), splat(s.epsilon),
                     splat(s.weight_decay),  splat(s.momentum), b != nullptr,       m != nullptr};
  update(n, rule, g, w, v, b, m);
}

struct Adadelta {
  Vector learning_rate, rho, rest, epsilon, weight_decay;

  HWY_INLINE void operator()(Vector g, Vector& w, Vector* kept) const {
    const Vector gradient = hn::MulAdd(weight_decay, w, g);
    kept[0] = mixed(rho, kept[0], rest, hn::Mul(gradient, gradient));
    const Vector ratio = hn::Div(hn::Sqrt(hn::Add(kept[1], epsilon)), hn::Sqrt(hn::Add(kept[0], epsilon)));
    const Vector change = hn::Mul(gradient, ratio);
    kept[1] = mixed(rho, kept[1], rest, hn::Mul(change, change));
    w = hn::NegMulAdd(learning_rate, change, w);
  }
};

void adadelta_step(size_t n, const AdadeltaStep& s, const float* g, float* w, float* v, float* u) {
  const Adadelta rule{splat(s.learning_rate), splat(s.rho), splat(1 - s.rho), splat(s.epsilon), splat(s.weight_decay)};
  update(n, rule, g, w, v, u);
}

struct Lion {
  Vector learning_rate, beta1, rest1, beta2, rest2, weight_decay;

  HWY_INLINE void operator()(Vector g, Vector& w, Vector* kept) const {
    const Vector direction = mixed(beta1, kept[0], rest1, g), zero = hn::Zero(Tag());
    // The sign of 0 is 0: a weight without a gradient stays where it is.
    const Vector sign = hn::IfThenElse(hn::Eq(direction, zero), zero, hn::CopySign(splat(1), direction));
    const Vector known = hn::IfThenElse(hn::Eq(direction, direction), sign, direction);  // NaN stays
    w = hn::NegMulAdd(learning_rate, hn::MulAdd(weight_decay, w, known), w);
    kept[0] = mixed(beta2, kept[0], rest2, g);
  }
};

void lion_step(size_t n, const LionStep& s, const float* g, float* w, float* m) {
  const Lion rule{splat(s.learning_rate), splat(s.beta1),     splat(1 - s.beta1),
                  splat(s.beta2),         splat(1 - s.beta2), splat(s.weight_decay)};
  update(n, rule, g, w, m);
}

struct LambDirection {
  Moments moments;
  Vector epsilon, weight_decay, m_scale, v_scale;
  const float *g, *w;
  float *m, *v, *u;

  template <class Lanes>
  HWY_INLINE void operator()(size_t i, const Lanes& lanes) const {
    Vector first = lanes.load(m + i), second = lanes.load(v + i);
    moments(lanes.load(g + i), first, second);
    const Vector root = hn::MulAdd(hn::Sqrt(second), v_scale, epsilon);
    lanes.store(first, m + i);
    lanes.store(second, v + i);
    lanes.store(hn::MulAdd(weight_decay, lanes.load(w + i), hn::Div(hn::Mul(m_scale, first), root)), u + i);
  }
};

void lamb_direction(size_t n, const LambStep& s, const float* g, const float* w, float* m, float* v, float* u) {
  for_each_vector(n, LambDirection{Moments(s.beta1, s.beta2), splat(s.epsilon), splat(s.weight_decay), splat(s.m_scale),
                                   splat(s.v_scale), g, w, m, v, u});
}

struct Squares {
  const float* x;

  template <class Lanes>
  HWY_INLINE void add(const Lanes& lanes, size_t i, Vector* sums) const {
    const Vector value = lanes.load(x + i);
    sums[0] = hn::MulAdd(value, value, sums[0]);
  }
};

void sum_of_squares(size_t n, const float* x, double* sums) {
  for (size_t i = 0; i < n; i += kSquaresBlock) {
    double sum[1] = {};
    run_sums(HWY_MIN(kSquaresBlock, n - i), Squares{x + i}, sum);
    // Sums of blocks of one size, which the caller adds in their order: the norm's bits depend on neither threads nor
    // pieces.
    sums[i / kSquaresBlock] = sum[0];
  }
}

struct AddScaled {
  Vector factor;
  HWY_INLINE Vector operator()(Vector x, Vector y) const { return hn::MulAdd(factor, x, y); }
};

struct Scale {
  Vector factor;
  HWY_INLINE Vector operator()(Vector x) const { return hn::Mul(factor, x); }
};

struct Clip {
  Vector limit;
  HWY_INLINE Vector operator()(Vector x) const { return at_most(limit, at_least(hn::Neg(limit), x)); }
};

struct AddProximal {
  Vector mu;
  HWY_INLINE Vector operator()(Vector w, Vector w0, Vector g) const { return hn::MulAdd(mu, hn::Sub(w, w0), g); }
};

void add_scaled(size_t n, float factor, const float* x, float* y) { map(n, y, AddScaled{splat(factor)}, x, y); }
void scale_in_place(size_t n, float factor, float* x) { map(n, x, Scale{splat(factor)}, x); }
void clip_in_place(size_t n, float limit, float* x) { map(n, x, Clip{splat(limit)}, x); }
void add_proximal(size_t n, float mu, const float* w, const float* w0, float* g) {
  map(n, g, AddProximal{splat(mu)}, w, w0, g);
}

}  // namespace

void fill_optimizer_target(OptimizerKernels<float>& table) {
  COT_SET(sgd_step, sgd_step);
  COT_SET(adam_step, adam_step);
  COT_SET(adamw_step, adamw_step);
  COT_SET(adagrad_step, adagrad_step);
  COT_SET(rmsprop_step, rmsprop_step);
  COT_SET(adadelta_step, adadelta_step);
  COT_SET(lion_step, lion_step);
  COT_SET(lamb_direction, lamb_direction);
  COT_SET(sum_of_squares, sum_of_squares);
  COT_SET(add_scaled, add_scaled);
  COT_SET(scale_in_place, scale_in_place);
  COT_SET(clip_in_place, clip_in_place);
  COT_SET(inverse_fourth_root, coterie::inverse_fourth_root<float>);
  COT_SET(add_proximal, add_proximal);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(optimizer, OptimizerKernels)
}  // namespace coterie::kernels::simd
#endif
