// Functions of one variable, and PReLU. Contracts: tables/activation.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/activation.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/simd/sum_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/simd/unary_inl.h"
#include "train_kernels/tables/activation.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

void unary_forward(const UnaryOp& op, size_t n, const float* x, float* y) {
#define COT_CASE(kind)                                   \
  case Unary::kind:                                      \
    if (!is_in_build("Unary::" #kind)) __builtin_trap(); \
    return map(n, y, Value<Unary::kind>(op), x);
  // clang-format off
  switch (op.kind) {
    COT_CASE(relu) COT_CASE(relu6) COT_CASE(leaky_relu) COT_CASE(elu) COT_CASE(gelu_erf) COT_CASE(gelu_tanh)
    COT_CASE(sigmoid) COT_CASE(hard_sigmoid) COT_CASE(hard_swish) COT_CASE(swish) COT_CASE(tanh) COT_CASE(softplus)
    COT_CASE(softsign) COT_CASE(clip) COT_CASE(sqrt) COT_CASE(exp) COT_CASE(log) COT_CASE(abs)
    COT_CASE(neg) COT_CASE(reciprocal) COT_CASE(erf)
  }
  // clang-format on
#undef COT_CASE
}

void unary_backward(const UnaryOp& op, size_t n, const float* saved, const float* dy, float* dx) {
#define COT_CASE(kind)                                   \
  case Unary::kind:                                      \
    if (!is_in_build("Unary::" #kind)) __builtin_trap(); \
    return map(n, dx, Slope<Unary::kind>(op), saved, dy);
  // clang-format off
  switch (op.kind) {
    COT_CASE(relu) COT_CASE(relu6) COT_CASE(leaky_relu) COT_CASE(elu) COT_CASE(gelu_erf) COT_CASE(gelu_tanh)
    COT_CASE(sigmoid) COT_CASE(hard_sigmoid) COT_CASE(hard_swish) COT_CASE(swish) COT_CASE(tanh) COT_CASE(softplus)
    COT_CASE(softsign) COT_CASE(clip) COT_CASE(sqrt) COT_CASE(exp) COT_CASE(log) COT_CASE(abs)
    COT_CASE(reciprocal) COT_CASE(erf)
    case Unary::neg: return map(n, dx, Value<Unary::neg>(op), dy);
  }
  // clang-format on
#undef COT_CASE
}

// out = x > 0 ? v : slope v, v being x or dy.
struct Prelu {
  const float *x, *slope, *v;
  float* out;
  bool one_slope;

  template <class Lanes>
  HWY_INLINE void operator()(size_t i, const Lanes& lanes) const {
    const Vector value = lanes.load(v + i);
    const Vector s = one_slope ? splat(*slope) : lanes.load(slope + i);
    lanes.store(hn::IfThenElse(hn::Gt(lanes.load(x + i), zero()), value, hn::Mul(s, value)), out + i);
  }
};

// Here and below, x, y, dy, dx: [rows, channels] at rows `stride` floats apart; slope, dslope: [channels], or [1].
void prelu_forward(const PreluShape& s, const float* x, const float* slope, float* y) {
  for (size_t r = 0; r < s.rows; ++r, x += s.stride, y += s.stride) {
    for_each_vector(s.channels, Prelu{x, slope, x, y, s.one_slope});
  }
}

void prelu_backward_input(const PreluShape& s, const float* x, const float* slope, const float* dy, float* dx) {
  for (size_t r = 0; r < s.rows; ++r, x += s.stride, dy += s.stride, dx += s.stride) {
    for_each_vector(s.channels, Prelu{x, slope, dy, dx, s.one_slope});
  }
}

struct SlopeGradient {
  const float *x, *dy;
  size_t stride;
  struct Column {};

  template <class Lanes>
  HWY_INLINE void add(const Lanes& lanes, size_t i, Vector* sum) const {
    const Vector value = lanes.load(x + i);
    const Vector product = hn::Mul(value, lanes.load(dy + i));
    *sum = hn::Add(*sum, hn::IfThenElse(hn::Gt(value, zero()), zero(), product));
  }
  template <class Lanes>
  HWY_INLINE Column column(const Lanes&, size_t) const {
    return {};
  }
  template <class Lanes>
  HWY_INLINE void add(const Column&, const Lanes& lanes, size_t row, size_t column, Vector* sum) const {
    add(lanes, row * stride + column, sum);
  }
};

void prelu_backward_slope(const PreluShape& s, const float* x, const float* dy, float* dslope) {
  if (!s.one_slope) {
    float* const sums[] = {dslope};
    return column_sums(s.rows, s.channels, SlopeGradient{x, dy, s.stride}, sums);
  }
  double sums[] = {0};
  if (s.stride == s.channels) {
    run_sums(s.rows * s.channels, SlopeGradient{x, dy, 0}, sums);
  } else {
    for (size_t r = 0; r < s.rows; ++r) {
      run_sums(s.channels, SlopeGradient{x + r * s.stride, dy + r * s.stride, 0}, sums);
    }
  }
  *dslope = static_cast<float>(sums[0]);
}

}  // namespace

void fill_activation_target(ActivationKernels<float>& table) {
  COT_SET(unary_forward, unary_forward);
  COT_SET(unary_backward, unary_backward);
  COT_SET(prelu_forward, prelu_forward);
  COT_SET(prelu_backward_input, prelu_backward_input);
  COT_SET(prelu_backward_slope, prelu_backward_slope);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(activation, ActivationKernels)
}  // namespace coterie::kernels::simd
#endif
