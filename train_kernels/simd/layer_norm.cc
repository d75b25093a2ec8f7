// Layer and RMS normalisation. Contracts: tables/layer_norm.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/layer_norm.cc"
#include "hwy/foreach_target.h"

#include <cmath>

#include "train_kernels/simd/math_inl.h"
#include "train_kernels/simd/sum_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/layer_norm.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

struct RowSum {
  const float* x;
  template <class Lanes>
  HWY_INLINE void add(const Lanes& lanes, size_t i, Vector* sum) const {
    *sum = hn::Add(*sum, lanes.load(x + i));
  }
};

struct RowSquares {
  const float* x;
  Vector mean;
  template <class Lanes>
  HWY_INLINE void add(const Lanes& lanes, size_t i, Vector* sum) const {
    const Vector difference = lanes.clear_rest(hn::Sub(lanes.load(x + i), mean));
    *sum = hn::MulAdd(difference, difference, *sum);
  }
};

struct NormaliseRow {
  const float *x, *scale, *bias;
  Vector mean, inverse;
  float* y;
  template <class Lanes>
  HWY_INLINE void operator()(size_t i, const Lanes& lanes) const {
    Vector value = hn::Mul(hn::Sub(lanes.load(x + i), mean), inverse);
    if (scale != nullptr) value = hn::Mul(value, lanes.load(scale + i));
    if (bias != nullptr) value = hn::Add(value, lanes.load(bias + i));
    lanes.store(value, y + i);
  }
};

// x, y: [rows, features]; scale, bias: [features] or null; mean, inverse_stddev: [rows], kept for backward. mean null:
// RMS normalisation. Squares are summed about the mean in a second pass: the difference of two large sums would lose
// them.
void layer_norm_forward(size_t rows, size_t features, const float* x, const float* scale, const float* bias,
                        float epsilon, float* y, float* mean, float* inverse_stddev) {
  const double count = static_cast<double>(features);
  for (size_t r = 0; r < rows; ++r, x += features, y += features) {
    double sum[] = {0}, squares[] = {0};
    if (mean != nullptr) {
      run_sums(features, RowSum{x}, sum);
      mean[r] = static_cast<float>(sum[0] / count);
    }
    const Vector center = splat(mean != nullptr ? mean[r] : 0);
    run_sums(features, RowSquares{x, center}, squares);
    inverse_stddev[r] = static_cast<float>(1 / std::sqrt(squares[0] / count + static_cast<double>(epsilon)));
    for_each_vector(features, NormaliseRow{x, scale, bias, center, splat(inverse_stddev[r]), y});
  }
}

// sums: of g = scale dy, and of g (x - mean).
struct RowGradientSums {
  const float *x, *scale, *dy;
  Vector mean;
  template <class Lanes>
  HWY_INLINE void add(const Lanes& lanes, size_t i, Vector* sums) const {
    Vector gradient = lanes.load(dy + i);
    if (scale != nullptr) gradient = hn::Mul(gradient, lanes.load(scale + i));
    sums[0] = hn::Add(sums[0], gradient);
    sums[1] = hn::MulAdd(gradient, hn::Sub(lanes.load(x + i), mean), sums[1]);
  }
};

// dx = inverse g - shift - rate (x - mean)
struct RowGradient {
  const float *x, *scale, *dy;
  Vector mean, inverse, shift, rate;
  float* dx;
  template <class Lanes>
  HWY_INLINE void operator()(size_t i, const Lanes& lanes) const {
    Vector gradient = lanes.load(dy + i);
    if (scale != nullptr) gradient = hn::Mul(gradient, lanes.load(scale + i));
    const Vector direct = hn::MulSub(inverse, gradient, shift);
    lanes.store(hn::NegMulAdd(rate, hn::Sub(lanes.load(x + i), mean), direct), dx + i);
  }
};

// x, dy, dx: [rows, features]; scale: [features] or null; mean: [rows] or null; inverse_stddev: [rows]
void layer_norm_backward_input(size_t rows, size_t features, const float* x, const float* scale, const float* mean,
                               const float* inverse_stddev, const float* dy, float* dx) {
  const double count = static_cast<double>(features);
  for (size_t r = 0; r < rows; ++r, x += features, dy += features, dx += features) {
    const Vector center = splat(mean != nullptr ? mean[r] : 0);
    double sums[2] = {0, 0};
    run_sums(features, RowGradientSums{x, scale, dy, center}, sums);
    const double inverse = static_cast<double>(inverse_stddev[r]);
    // dx = inverse (g - mean(g) - x' mean(g x')) with g = scale dy and x' = inverse (x - mean). Without a mean (RMS)
    // the middle term is gone.
    const double shift = mean != nullptr ? inverse * sums[0] / count : 0;
    const double rate = inverse * inverse * inverse * sums[1] / count;
    for_each_vector(features, RowGradient{x, scale, dy, center, splat(inverse_stddev[r]),
                                          splat(static_cast<float>(shift)), splat(static_cast<float>(rate)), dx});
  }
}

// sums: of dy x', and of dy if kSums is 2.
template <size_t kSums>
struct ParameterTerm {
  const float *x, *mean, *inverse_stddev, *dy;
  size_t stride;
  struct Column {};

  template <class Lanes>
  HWY_INLINE Column column(const Lanes&, size_t) const {
    return {};
  }
  template <class Lanes>
  HWY_INLINE void add(const Column&, const Lanes& lanes, size_t row, size_t column, Vector* sums) const {
    const Vector center = splat(mean != nullptr ? mean[row] : 0);
    const Vector value = hn::Mul(hn::Sub(lanes.load(x + row * stride + column), center), splat(inverse_stddev[row]));
    const Vector gradient = lanes.load(dy + row * stride + column);
    sums[0] = hn::MulAdd(gradient, value, sums[0]);
    if constexpr (kSums == 2) sums[1] = hn::Add(sums[1], gradient);
  }
};

// x, dy: [rows, features] at rows `stride` floats apart; mean: [rows] or null; inverse_stddev: [rows]; dscale:
// [features]; dbias: [features] or null
void layer_norm_backward_parameters(size_t rows, size_t features, size_t stride, const float* x, const float* mean,
                                    const float* inverse_stddev, const float* dy, float* dscale, float* dbias) {
  if (dbias != nullptr) {
    float* const sums[] = {dscale, dbias};
    column_sums(rows, features, ParameterTerm<2>{x, mean, inverse_stddev, dy, stride}, sums);
  } else {
    float* const sums[] = {dscale};
    column_sums(rows, features, ParameterTerm<1>{x, mean, inverse_stddev, dy, stride}, sums);
  }
}

}  // namespace

void fill_layer_norm_target(LayerNormKernels<float>& table) {
  COT_SET(layer_norm_forward, layer_norm_forward);
  COT_SET(layer_norm_backward_input, layer_norm_backward_input);
  COT_SET(layer_norm_backward_parameters, layer_norm_backward_parameters);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(layer_norm, LayerNormKernels)
}  // namespace coterie::kernels::simd
#endif
