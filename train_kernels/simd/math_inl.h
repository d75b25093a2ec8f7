// exp, expm1, log, log1p, tanh, the logistic function and erf of vectors, NaN and infinities as in C's
// math.h. Largest error found over a million arguments, in units in the last place: exp 1.1, log 0.8,
// erf 1.4, tanh and the logistic function 2.5. (Highway's own, in contrib/math, give 0 for exp(NaN).)
//
// The polynomials are minimax fits (Remez exchange in double, rounded to float); beside each its error before
// rounding. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_MATH_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_MATH_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_MATH_INL_H_
#endif

#include <cmath>

#include "train_kernels/simd/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

using IntTag = hn::RebindToSigned<Tag>;
using IntVector = hn::Vec<IntTag>;

HWY_INLINE Vector splat(float value) { return hn::Set(Tag(), value); }

// c0 + c1 x + c2 x^2 ...
HWY_INLINE Vector polynomial(Vector, float last) { return splat(last); }
template <typename... Rest>
HWY_INLINE Vector polynomial(Vector x, float first, Rest... rest) {
  return hn::MulAdd(polynomial(x, rest...), x, splat(first));
}

// 2^n for integers n in [-126, 127].
HWY_INLINE Vector power_of_two(IntVector n) {
  return hn::BitCast(Tag(), hn::ShiftLeft<23>(hn::Add(n, hn::Set(IntTag(), 127))));
}

// x = n log 2 + r with |r| <= log(2) / 2, and e^r - 1. |x| below 2^21 log 2, or NaN, which makes all NaN.
struct ReducedExp {
  IntVector n;
  Vector rest;  // e^r - 1

  HWY_INLINE explicit ReducedExp(Vector x) {
    const Vector magic = splat(0x1.8p23f);  // adding it rounds to an integer, kept in the low bits
    const Vector shifted = hn::MulAdd(x, splat(1.44269504f), magic);
    n = hn::Sub(hn::BitCast(IntTag(), shifted), hn::BitCast(IntTag(), magic));
    const Vector whole = hn::Sub(shifted, magic);
    // log 2 in two parts, the first so short that its multiples are exact (Cody and Waite, 1980).
    const Vector r = hn::NegMulAdd(whole, splat(-2.12194440e-4f), hn::NegMulAdd(whole, splat(0.693359375f), x));
    // (e^r - 1 - r) / r^2, relative error of e^r 3.1e-9
    const Vector p = polynomial(r, 0.5f, 1.666652113e-01f, 4.166838899e-02f, 8.368716575e-03f, 1.381459879e-03f);
    rest = hn::MulAdd(hn::Mul(r, r), p, r);
  }
};

HWY_INLINE Vector exp(Vector x) {
  // Below -104 it rounds to 0, above 88.73 to infinity.
  const ReducedExp e(at_most(splat(89), at_least(splat(-104.5f), x)));
  // 2^n in two factors: n reaches from -151 to 128.
  const IntVector half = hn::ShiftRight<1>(e.n);
  const Vector scaled = hn::Mul(hn::Add(e.rest, splat(1)), power_of_two(half));
  return hn::Mul(scaled, power_of_two(hn::Sub(e.n, half)));
}

// e^x - 1 for x <= 0.
HWY_INLINE Vector expm1_of_negative(Vector x) {
  const ReducedExp e(at_least(splat(-30), x));
  const Vector scale = power_of_two(e.n);
  return hn::MulAdd(scale, e.rest, hn::Sub(scale, splat(1)));
}

HWY_INLINE Vector log(Vector x) {
  const Tag d;
  const IntTag di;
  const Vector smallest = splat(0x1p-126f);
  const auto subnormal = hn::Lt(x, smallest);
  const Vector normal = hn::IfThenElse(subnormal, hn::Mul(x, splat(0x1p25f)), x);
  // x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
  const IntVector root = hn::Set(di, 0x3f3504f3);
  const IntVector bits = hn::Sub(hn::BitCast(di, normal), root);
  const Vector exponent = hn::Sub(hn::ConvertTo(d, hn::ShiftRight<23>(bits)), hn::IfThenElseZero(subnormal, splat(25)));
  const Vector f = hn::Sub(hn::BitCast(d, hn::Add(hn::And(bits, hn::Set(di, 0x7fffff)), root)), splat(1));
  // (log(1 + f) - f + f^2 / 2) / f^3, absolute error of log(1 + f) 7.3e-10 f^2
  const Vector p =
      polynomial(f, 3.333331048e-01f, -2.499998659e-01f, 2.000222653e-01f, -1.666925251e-01f, 1.421866417e-01f,
                 -1.238433495e-01f, 1.187292486e-01f, -1.178986505e-01f, 6.915541738e-02f);
  const Vector square = hn::Mul(f, f);
  const Vector low = hn::MulAdd(exponent, splat(-2.12194440e-4f), hn::Mul(hn::Mul(square, f), p));
  const Vector sum = hn::Add(f, hn::NegMulAdd(splat(0.5f), square, low));
  const Vector value = hn::MulAdd(exponent, splat(0.693359375f), sum);
  const Vector infinity = splat(HUGE_VALF);
  const Vector finite = hn::IfThenElse(hn::Lt(x, infinity), value, x);  // infinity and NaN themselves
  const Vector at_zero = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), finite);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), splat(NAN), at_zero);
}

// log(1 + x) for x in [0, 1].
HWY_INLINE Vector log1p_of_fraction(Vector x) {
  const Vector sum = hn::Add(x, splat(1));
  const Vector lost = hn::Sub(x, hn::Sub(sum, splat(1)));  // by rounding the sum
  return hn::Add(log(sum), hn::Div(lost, sum));
}

// tanh |x| = -t / (t + 2) with t = e^(-2 |x|) - 1.
HWY_INLINE Vector tanh(Vector x) {
  const Vector t = expm1_of_negative(hn::Mul(splat(-2), hn::Abs(x)));
  return hn::CopySign(hn::Div(t, hn::Add(t, splat(2))), x);
}

HWY_INLINE Vector logistic(Vector x) { return hn::Div(splat(1), hn::Add(splat(1), exp(hn::Neg(x)))); }

HWY_INLINE Vector erf(Vector x) {
  const Vector t = hn::Abs(x);
  // Up to 1: (erf(x) / x - 1) in x^2, relative error 1.2e-9.
  const Vector near = polynomial(hn::Mul(x, x), 1.283791661e-01f, -3.761262596e-01f, 1.128360033e-01f,
                                 -2.685444430e-02f, 5.189535674e-03f, -8.020842215e-04f, 7.889123663e-05f);
  // Above: log(1 - erf(t)) / t + 1, absolute error of erf 2.4e-9. From 4 on it rounds to 1.
  const Vector bounded = at_most(splat(4), t);
  const Vector far = polynomial(bounded, -1.284755766e-01f, -6.358463764e-01f, -1.050966606e-01f, 2.278608270e-02f,
                                -3.183116205e-03f, 2.101819409e-04f);
  const Vector rest = exp(hn::MulSub(far, bounded, bounded));
  const Vector beyond = hn::CopySign(hn::Sub(splat(1), rest), x);
  return hn::IfThenElse(hn::Lt(t, splat(1)), hn::MulAdd(near, x, x), beyond);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
