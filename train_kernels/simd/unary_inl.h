// The functions of unary.h and their derivatives as vector functors: Value(x) -> y, Slope(saved, dy) -> dx.
// Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_UNARY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_UNARY_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_UNARY_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_UNARY_INL_H_
#endif

#include "train_kernels/simd/math_inl.h"
#include "train_kernels/unary.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

HWY_INLINE Vector zero() { return hn::Zero(Tag()); }
HWY_INLINE Vector one() { return splat(1); }
HWY_INLINE Vector between(Vector low, Vector high, Vector x) { return at_most(high, at_least(low, x)); }
HWY_INLINE auto is_inside(Vector low, Vector high, Vector x) { return hn::And(hn::Gt(x, low), hn::Lt(x, high)); }

template <Unary kKind>
struct Value;
template <Unary kKind>
struct Slope;

// A functor without constants.
#define COT_UNARY(what, kind, args, expression)                    \
  template <>                                                      \
  struct what<Unary::kind> {                                       \
    explicit what(const UnaryOp&) {}                               \
    HWY_INLINE Vector operator() args const { return expression; } \
  };
// A functor of alpha and beta.
#define COT_UNARY_OF(what, kind, args, expression)                                     \
  template <>                                                                          \
  struct what<Unary::kind> {                                                           \
    Vector alpha, beta;                                                                \
    explicit what(const UnaryOp& op) : alpha(splat(op.alpha)), beta(splat(op.beta)) {} \
    HWY_INLINE Vector operator() args const { return expression; }                     \
  };

COT_UNARY(Value, relu, (Vector x), at_least(zero(), x))
COT_UNARY(Slope, relu, (Vector y, Vector dy), hn::IfThenElseZero(hn::Gt(y, zero()), dy))
COT_UNARY(Value, relu6, (Vector x), between(zero(), splat(6), x))
COT_UNARY(Slope, relu6, (Vector y, Vector dy), hn::IfThenElseZero(is_inside(zero(), splat(6), y), dy))
COT_UNARY_OF(Value, leaky_relu, (Vector x), hn::IfThenElse(hn::Gt(x, zero()), x, hn::Mul(alpha, x)))
COT_UNARY_OF(Slope, leaky_relu, (Vector saved, Vector dy),
             hn::IfThenElse(hn::Gt(saved, zero()), dy, hn::Mul(alpha, dy)))
COT_UNARY_OF(Value, elu, (Vector x),
             hn::IfThenElse(hn::Gt(x, zero()), x, hn::Mul(alpha, expm1_of_negative(at_most(zero(), x)))))
COT_UNARY(Value, sigmoid, (Vector x), logistic(x))
COT_UNARY(Slope, sigmoid, (Vector y, Vector dy), hn::Mul(dy, hn::Mul(y, hn::Sub(one(), y))))
COT_UNARY_OF(Value, hard_sigmoid, (Vector x), between(zero(), one(), hn::MulAdd(alpha, x, beta)))
COT_UNARY_OF(Slope, hard_sigmoid, (Vector y, Vector dy),
             hn::IfThenElseZero(is_inside(zero(), one(), y), hn::Mul(alpha, dy)))
COT_UNARY(Value, hard_swish, (Vector x),
          hn::Mul(x, between(zero(), one(), hn::MulAdd(x, splat(1 / 6.0f), splat(0.5f)))))
COT_UNARY(Value, swish, (Vector x), hn::Div(x, hn::Add(one(), exp(hn::Neg(x)))))
COT_UNARY(Value, tanh, (Vector x), tanh(x))
COT_UNARY(Slope, tanh, (Vector y, Vector dy), hn::Mul(dy, hn::NegMulAdd(y, y, one())))
COT_UNARY(Value, softplus, (Vector x), hn::Add(at_least(zero(), x), log1p_of_fraction(exp(hn::Neg(hn::Abs(x))))))
COT_UNARY(Slope, softplus, (Vector y, Vector dy), hn::Mul(dy, hn::Neg(expm1_of_negative(hn::Neg(y)))))
COT_UNARY(Value, softsign, (Vector x), hn::Div(x, hn::Add(one(), hn::Abs(x))))
COT_UNARY_OF(Value, clip, (Vector x), between(alpha, beta, x))
COT_UNARY_OF(Slope, clip, (Vector y, Vector dy), hn::IfThenElseZero(is_inside(alpha, beta, y), dy))
COT_UNARY(Value, sqrt, (Vector x), hn::Sqrt(x))
COT_UNARY(Slope, sqrt, (Vector y, Vector dy), hn::Div(hn::Mul(splat(0.5f), dy), y))
COT_UNARY(Value, exp, (Vector x), exp(x))
COT_UNARY(Slope, exp, (Vector y, Vector dy), hn::Mul(dy, y))
COT_UNARY(Value, log, (Vector x), log(x))
COT_UNARY(Slope, log, (Vector x, Vector dy), hn::Div(dy, x))
COT_UNARY(Value, abs, (Vector x), hn::Abs(x))
COT_UNARY(Value, neg, (Vector x), hn::Neg(x))
COT_UNARY(Value, reciprocal, (Vector x), hn::Div(one(), x))
COT_UNARY(Slope, reciprocal, (Vector y, Vector dy), hn::Neg(hn::Mul(dy, hn::Mul(y, y))))
COT_UNARY(Value, erf, (Vector x), erf(x))
// 2 / sqrt(pi) e^(-x^2)
COT_UNARY(Slope, erf, (Vector x, Vector dy), hn::Mul(dy, hn::Mul(splat(1.12837917f), exp(hn::Neg(hn::Mul(x, x))))))

template <>
struct Slope<Unary::elu> {
  Vector alpha;
  bool from_y;
  explicit Slope(const UnaryOp& op) : alpha(splat(op.alpha)), from_y(op.alpha >= 0) {}
  HWY_INLINE Vector operator()(Vector saved, Vector dy) const {
    const Vector below = from_y ? hn::Add(saved, alpha) : hn::Mul(alpha, exp(saved));
    return hn::IfThenElse(hn::Gt(saved, zero()), dy, hn::Mul(dy, below));
  }
};

template <>
struct Value<Unary::gelu_erf> {
  explicit Value(const UnaryOp&) {}
  HWY_INLINE Vector operator()(Vector x) const {
    const Vector half = hn::Mul(splat(0.5f), x);
    return hn::MulAdd(half, erf(hn::Mul(splat(0.707106781f), x)), half);
  }
};
template <>
struct Slope<Unary::gelu_erf> {
  explicit Slope(const UnaryOp&) {}
  HWY_INLINE Vector operator()(Vector x, Vector dy) const {
    const Vector density = exp(hn::Mul(splat(-0.5f), hn::Mul(x, x)));  // times sqrt(2 pi)
    const Vector below = hn::MulAdd(splat(0.5f), erf(hn::Mul(splat(0.707106781f), x)), splat(0.5f));
    return hn::Mul(dy, hn::MulAdd(hn::Mul(splat(0.398942280f), x), density, below));
  }
};

// sqrt(2 / pi) (x + 0.044715 x^3) and its derivative
HWY_INLINE Vector gelu_argument(Vector x) {
  return hn::Mul(x, hn::MulAdd(hn::Mul(x, x), splat(0.0356774081f), splat(0.797884561f)));
}
HWY_INLINE Vector gelu_argument_slope(Vector x) {
  return hn::MulAdd(hn::Mul(x, x), splat(0.107032224f), splat(0.797884561f));
}
template <>
struct Value<Unary::gelu_tanh> {
  explicit Value(const UnaryOp&) {}
  HWY_INLINE Vector operator()(Vector x) const {
    const Vector half = hn::Mul(splat(0.5f), x);
    return hn::MulAdd(half, tanh(gelu_argument(x)), half);
  }
};
template <>
struct Slope<Unary::gelu_tanh> {
  explicit Slope(const UnaryOp&) {}
  HWY_INLINE Vector operator()(Vector x, Vector dy) const {
    const Vector t = tanh(gelu_argument(x)), half = splat(0.5f);
    const Vector steep = hn::Mul(hn::NegMulAdd(t, t, one()), hn::Mul(hn::Mul(half, x), gelu_argument_slope(x)));
    return hn::Mul(dy, hn::Add(hn::MulAdd(half, t, half), steep));
  }
};

template <>
struct Slope<Unary::hard_swish> {
  explicit Slope(const UnaryOp&) {}
  HWY_INLINE Vector operator()(Vector x, Vector dy) const {
    const Vector inside = hn::Mul(dy, hn::MulAdd(x, splat(1 / 3.0f), splat(0.5f)));
    const Vector low = hn::IfThenElse(hn::Lt(x, splat(-3)), zero(), inside);
    return hn::IfThenElse(hn::Gt(x, splat(3)), dy, low);
  }
};
template <>
struct Slope<Unary::swish> {
  explicit Slope(const UnaryOp&) {}
  HWY_INLINE Vector operator()(Vector x, Vector dy) const {
    const Vector s = logistic(x);
    return hn::Mul(dy, hn::Mul(s, hn::MulAdd(x, hn::Sub(one(), s), one())));
  }
};
template <>
struct Slope<Unary::softsign> {
  explicit Slope(const UnaryOp&) {}
  HWY_INLINE Vector operator()(Vector y, Vector dy) const {
    const Vector rest = hn::Sub(one(), hn::Abs(y));
    return hn::Mul(dy, hn::Mul(rest, rest));
  }
};
template <>
struct Slope<Unary::abs> {
  explicit Slope(const UnaryOp&) {}
  HWY_INLINE Vector operator()(Vector x, Vector dy) const {
    const Vector nonzero = hn::IfThenElse(hn::Lt(x, zero()), hn::Neg(dy), dy);
    return hn::IfThenElse(hn::Eq(x, zero()), zero(), nonzero);
  }
};

#undef COT_UNARY
#undef COT_UNARY_OF

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
