// The element-wise part of a normalisation by constants of a column, forward and backward, and the sums its
// backward pass needs: batch normalisation as it is, group normalisation for one example and some groups.
// Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_NORMALISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_NORMALISE_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_NORMALISE_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_NORMALISE_INL_H_
#endif

#include "train_kernels/simd/columns_inl.h"
#include "train_kernels/tables/batch_norm.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

using Channels = BatchNormChannels<float>;

// The bounds of an activation: 0 and 6 or infinity.
HWY_INLINE Vector activation_limit(Activation activation) {
  return splat(activation == Activation::relu6 ? 6 : HUGE_VALF);
}

// factor (x - mean) + bias: one rounding more than a plain multiply-add, none of which grows with the mean.
struct Affine {
  Vector mean, factor, bias;

  template <class Lanes>
  static HWY_INLINE Affine load(const Channels& channels, const Lanes& lanes, size_t column) {
    const Vector factor = hn::Mul(lanes.load(channels.scale + column), lanes.load(channels.inverse_stddev + column));
    return {lanes.load(channels.mean + column), factor, lanes.load(channels.bias + column)};
  }
  HWY_INLINE Vector operator()(Vector x) const { return hn::MulAdd(factor, hn::Sub(x, mean), bias); }
  // dy where an activation with this limit let y through.
  HWY_INLINE Vector let_through(Vector x, Vector limit, Vector dy) const {
    const Vector y = (*this)(x);
    return hn::IfThenElseZero(hn::And(hn::Gt(y, hn::Zero(Tag())), hn::Lt(y, limit)), dy);
  }
};

template <bool kActivation>
struct Normalise {
  using Column = Affine;
  const Channels& channels;
  Vector limit;
  size_t stride;
  const float* x;
  float* y;

  template <class Lanes>
  HWY_INLINE Column column(const Lanes& lanes, size_t column) const {
    return Affine::load(channels, lanes, column);
  }
  template <class Lanes>
  HWY_INLINE void operator()(const Column& affine, const Lanes& lanes, size_t row, size_t column) const {
    const size_t at = row * stride + column;
    Vector value = affine(lanes.load(x + at));
    if constexpr (kActivation) value = at_most(limit, at_least(hn::Zero(Tag()), value));
    lanes.store(value, y + at);
  }
};

// sums[0] = the sum of dy x', sums[1] = that of dy. Without an activation scale and bias are not read.
template <bool kActivation>
struct ParameterGradients {
  const Channels& channels;
  Vector limit;
  size_t stride;
  const float *x, *dy;
  struct Column {
    Vector inverse;
    Affine affine;
  };

  template <class Lanes>
  HWY_INLINE Column column(const Lanes& lanes, size_t column) const {
    const Vector inverse = lanes.load(channels.inverse_stddev + column);
    if constexpr (kActivation) return {inverse, Affine::load(channels, lanes, column)};
    return {inverse, {lanes.load(channels.mean + column), inverse, inverse}};
  }
  template <class Lanes>
  HWY_INLINE void add(const Column& c, const Lanes& lanes, size_t row, size_t column, Vector* sums) const {
    const size_t at = row * stride + column;
    const Vector value = lanes.load(x + at);
    Vector gradient = lanes.load(dy + at);
    if constexpr (kActivation) gradient = c.affine.let_through(value, limit, gradient);
    sums[0] = hn::MulAdd(gradient, hn::Mul(hn::Sub(value, c.affine.mean), c.inverse), sums[0]);
    sums[1] = hn::Add(sums[1], gradient);
  }
};

// dx = factor dy - rate (x - mean) - shift, where factor = scale inverse_stddev,
// rate = product inverse_stddev^2 / count, shift = sum inverse_stddev / count. sum and product are those of
// scale dy and scale dy x'; with per_scale they are given divided by scale.
template <bool kActivation>
struct InputGradient {
  const Channels& channels;
  Vector limit;
  size_t stride;
  const float *x, *product, *sum;
  bool per_scale;
  float count;
  const float* dy;
  float* dx;
  struct Column {
    Affine affine;
    Vector rate, shift;
  };

  template <class Lanes>
  HWY_INLINE Column column(const Lanes& lanes, size_t column) const {
    const Affine affine = Affine::load(channels, lanes, column);
    const Vector inverse = lanes.load(channels.inverse_stddev + column);
    const Vector by = hn::Div(per_scale ? affine.factor : inverse, splat(count));
    return {affine, hn::Mul(hn::Mul(by, inverse), lanes.load(product + column)), hn::Mul(by, lanes.load(sum + column))};
  }
  template <class Lanes>
  HWY_INLINE void operator()(const Column& c, const Lanes& lanes, size_t row, size_t column) const {
    const size_t at = row * stride + column;
    const Vector value = lanes.load(x + at);
    Vector gradient = lanes.load(dy + at);
    if constexpr (kActivation) gradient = c.affine.let_through(value, limit, gradient);
    const Vector direct = hn::MulSub(c.affine.factor, gradient, c.shift);
    lanes.store(hn::NegMulAdd(c.rate, hn::Sub(value, c.affine.mean), direct), dx + at);
  }
};

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
