// Softmax. Contracts: tables/softmax.h. A line whose values are neighbours is summed across lanes; otherwise
// a vector holds neighbouring lines.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/softmax.cc"
#include "hwy/foreach_target.h"

#include <cmath>

#include "train_kernels/simd/math_inl.h"
#include "train_kernels/simd/sum_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/softmax.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

HWY_INLINE float largest(const float* x, size_t n) {
  const Tag d;
  float top = x[0];
  size_t i = 0;
  if (n >= kLanes) {
    Vector best = hn::LoadU(d, x);
    for (i = kLanes; i + kLanes <= n; i += kLanes) best = hn::Max(best, hn::LoadU(d, x + i));
    top = hn::GetLane(hn::MaxOfLanes(d, best));
  }
  for (; i < n; ++i) top = x[i] > top ? x[i] : top;
  return top;
}

// Sums e^(x - top), and writes it unless y is null.
struct SumExponentials {
  const float* x;
  Vector top;
  float* y;
  template <class Lanes>
  HWY_INLINE void add(const Lanes& lanes, size_t i, Vector* sum) const {
    const Vector e = exp(hn::Sub(lanes.load(x + i), top));
    if (y != nullptr) lanes.store(e, y + i);
    *sum = hn::Add(*sum, lanes.clear_rest(e));
  }
};
struct Times {
  Vector factor;
  HWY_INLINE Vector operator()(Vector x) const { return hn::Mul(x, factor); }
};
struct MinusBoth {
  Vector top, logarithm;
  HWY_INLINE Vector operator()(Vector x) const { return hn::Sub(hn::Sub(x, top), logarithm); }
};

// x[n] -> y[n], values that are neighbours. The largest value goes out of every exponent first: then none overflows,
// and the sum is at least 1. A softmax keeps its exponentials in y until the sum is known; a logarithm needs the sum
// alone.
template <bool kLogarithm>
void line_forward(size_t n, const float* x, float* y) {
  const float top = largest(x, n);
  double sum[] = {0};
  run_sums(n, SumExponentials{x, splat(top), kLogarithm ? nullptr : y}, sum);
  if constexpr (kLogarithm) {
    map(n, y, MinusBoth{splat(top), splat(static_cast<float>(std::log(sum[0])))}, x);
  } else {
    map(n, y, Times{splat(static_cast<float>(1 / sum[0]))}, static_cast<const float*>(y));
  }
}

// Lines side by side: values of a line are `inner` apart.
template <bool kLogarithm>
struct LinesForward {
  size_t axis, inner;
  const float* x;
  float* y;
  template <class Lanes>
  HWY_INLINE void operator()(size_t i, const Lanes& lanes) const {
    Vector top = lanes.load(x + i);
    for (size_t k = 1; k < axis; ++k) top = hn::Max(top, lanes.load(x + i + k * inner));
    Vector sum = hn::Zero(Tag());
    for (size_t k = 0; k < axis; ++k) {
      const Vector e = exp(hn::Sub(lanes.load(x + i + k * inner), top));
      if constexpr (!kLogarithm) lanes.store(e, y + i + k * inner);
      sum = hn::Add(sum, e);
    }
    if constexpr (kLogarithm) {
      const MinusBoth minus{top, log(sum)};
      for (size_t k = 0; k < axis; ++k) lanes.store(minus(lanes.load(x + i + k * inner)), y + i + k * inner);
    } else {
      const Times times{hn::Div(splat(1), sum)};
      for (size_t k = 0; k < axis; ++k) lanes.store(times(lanes.load(y + i + k * inner)), y + i + k * inner);
    }
  }
};

// x, y: [outer, axis, inner]
template <bool kLogarithm>
void forward(const SoftmaxShape& s, const float* x, float* y) {
  for (size_t o = 0; o < s.outer; ++o, x += s.axis * s.inner, y += s.axis * s.inner) {
    if (s.inner == 1) line_forward<kLogarithm>(s.axis, x, y);
    else for_each_vector(s.inner, LinesForward<kLogarithm>{s.axis, s.inner, x, y});
  }
}

// Sums dy y, or dy.
template <bool kLogarithm>
struct SumGradients {
  const float *y, *dy;
  template <class Lanes>
  HWY_INLINE void add(const Lanes& lanes, size_t i, Vector* sum) const {
    // softmax      dx = y (dy - sum(y dy))
    // log softmax  dx = dy - e^y sum(dy)
    const Vector gradient = lanes.load(dy + i);
    *sum = kLogarithm ? hn::Add(*sum, gradient) : hn::MulAdd(gradient, lanes.load(y + i), *sum);
  }
};
template <bool kLogarithm>
struct Gradient {
  Vector sum;
  HWY_INLINE Vector operator()(Vector y, Vector dy) const {
    return kLogarithm ? hn::NegMulAdd(exp(y), sum, dy) : hn::Mul(y, hn::Sub(dy, sum));
  }
};

// Lines side by side, as LinesForward: element i of each line, for all lines of a vector.
template <bool kLogarithm>
struct LinesBackward {
  size_t axis, inner;
  const float *y, *dy;
  float* dx;
  template <class Lanes>
  HWY_INLINE void operator()(size_t i, const Lanes& lanes) const {
    const SumGradients<kLogarithm> term{y, dy};
    Gradient<kLogarithm> gradient{hn::Zero(Tag())};
    for (size_t k = 0; k < axis; ++k) term.add(lanes, i + k * inner, &gradient.sum);
    for (size_t k = 0; k < axis; ++k) {
      const size_t at = i + k * inner;
      lanes.store(gradient(lanes.load(y + at), lanes.load(dy + at)), dx + at);
    }
  }
};

// y, dy, dx: [outer, axis, inner]. It needs y alone: the derivative of e^x is e^x.
template <bool kLogarithm>
void backward(const SoftmaxShape& s, const float* y, const float* dy, float* dx) {
  const size_t step = s.axis * s.inner;
  for (size_t o = 0; o < s.outer; ++o, y += step, dy += step, dx += step) {
    if (s.inner != 1) {
      for_each_vector(s.inner, LinesBackward<kLogarithm>{s.axis, s.inner, y, dy, dx});
      continue;
    }
    double sum[] = {0};
    run_sums(s.axis, SumGradients<kLogarithm>{y, dy}, sum);
    map(s.axis, dx, Gradient<kLogarithm>{splat(static_cast<float>(sum[0]))}, y, dy);
  }
}

}  // namespace

void fill_softmax_target(SoftmaxKernels<float>& table) {
  COT_SET(softmax_forward, forward<false>);
  COT_SET(softmax_backward, backward<false>);
  COT_SET(log_softmax_forward, forward<true>);
  COT_SET(log_softmax_backward, backward<true>);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(softmax, SoftmaxKernels)
}  // namespace coterie::kernels::simd
#endif
