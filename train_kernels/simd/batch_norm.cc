// Batch normalisation. Contracts: tables/batch_norm.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/batch_norm.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/simd/normalise_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/batch_norm.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

HWY_INLINE Vector inverse_of(Vector variance, float epsilon) {
  return hn::Div(splat(1), hn::Sqrt(hn::Add(variance, splat(epsilon))));
}

struct KeepStatistics {
  size_t rows;
  float epsilon;
  float *mean, *inverse_stddev;
  const BatchNormRunning<float>* running;

  template <class Lanes>
  HWY_INLINE void follow(const Lanes& lanes, Vector value, float* at) const {
    const Vector old = lanes.load(at);
    lanes.store(hn::MulAdd(splat(running->momentum), hn::Sub(value, old), old), at);
  }
  template <class Lanes>
  HWY_INLINE void operator()(const Lanes& lanes, size_t column, Vector means, Vector squares) const {
    lanes.store(means, mean + column);
    const Vector variance = hn::Div(squares, splat(static_cast<float>(rows)));
    lanes.store(inverse_of(variance, epsilon), inverse_stddev + column);
    if (running == nullptr) return;
    follow(lanes, means, running->mean + column);
    // As in PyTorch the running variance is the unbiased one, divided by rows - 1, which a single row does not have.
    // The batch is normalised by the biased one above.
    if (rows > 1) follow(lanes, hn::Div(squares, splat(static_cast<float>(rows - 1))), running->variance + column);
  }
};

// x: [rows, channels] at rows `stride` floats apart; mean, inverse_stddev, running: [channels]
void batch_norm_statistics(const BatchNormShape& s, const float* x, float epsilon, float* mean, float* inverse_stddev,
                           const BatchNormRunning<float>* running) {
  column_moments(x, s.rows, s.channels, s.stride, KeepStatistics{s.rows, epsilon, mean, inverse_stddev, running});
}

struct InverseStddev {
  float epsilon;
  HWY_INLINE Vector operator()(Vector variance) const { return inverse_of(variance, epsilon); }
};

// variance, inverse_stddev: [channels]
void batch_norm_inverse_stddev(size_t channels, const float* variance, float epsilon, float* inverse_stddev) {
  map(channels, inverse_stddev, InverseStddev{epsilon}, variance);
}

// x, y: [rows, channels]; channels: four of [channels]. The activation is a template argument below, so that the inner
// loop has no branch.
void batch_norm_forward(const BatchNormShape& s, const float* x, const Channels& channels, Activation activation,
                        float* y) {
  const Vector limit = activation_limit(activation);
  if (activation == Activation::none) {
    map_columns(s.rows, s.channels, Normalise<false>{channels, limit, s.stride, x, y});
  } else {
    map_columns(s.rows, s.channels, Normalise<true>{channels, limit, s.stride, x, y});
  }
}

// x, dy: [rows, channels]; dscale, dbias: [channels]
void batch_norm_backward_parameters(const BatchNormShape& s, const float* x, const Channels& channels,
                                    Activation activation, const float* dy, float* dscale, float* dbias) {
  const Vector limit = activation_limit(activation);
  float* const sums[] = {dscale, dbias};
  if (activation == Activation::none) {
    column_sums(s.rows, s.channels, ParameterGradients<false>{channels, limit, s.stride, x, dy}, sums);
  } else {
    column_sums(s.rows, s.channels, ParameterGradients<true>{channels, limit, s.stride, x, dy}, sums);
  }
}

template <bool kActivation>
void backward_input(const BatchNormShape& s, size_t batch_rows, const float* x, const Channels& channels,
                    Activation activation, const float* dscale, const float* dbias, const float* dy, float* dx) {
  const InputGradient<kActivation> gradient{channels, activation_limit(activation),   s.stride, x, dscale, dbias,
                                            true,     static_cast<float>(batch_rows), dy,       dx};
  map_columns(s.rows, s.channels, gradient);
}

// x, dy, dx: [rows, channels], perhaps a part of batch_rows; dscale, dbias: [channels], sums over all batch_rows
void batch_norm_backward_input(const BatchNormShape& s, size_t batch_rows, const float* x, const Channels& channels,
                               Activation activation, const float* dscale, const float* dbias, const float* dy,
                               float* dx) {
  const auto body = activation == Activation::none ? backward_input<false> : backward_input<true>;
  body(s, batch_rows, x, channels, activation, dscale, dbias, dy, dx);
}

template <bool kActivation>
struct FrozenGradient {
  using Column = Affine;
  const Channels& channels;
  Vector limit;
  size_t stride;
  const float *x, *dy;
  float* dx;

  template <class Lanes>
  HWY_INLINE Column column(const Lanes& lanes, size_t column) const {
    return Affine::load(channels, lanes, column);
  }
  template <class Lanes>
  HWY_INLINE void operator()(const Column& affine, const Lanes& lanes, size_t row, size_t column) const {
    const size_t at = row * stride + column;
    Vector gradient = lanes.load(dy + at);
    if constexpr (kActivation) gradient = affine.let_through(lanes.load(x + at), limit, gradient);
    lanes.store(hn::Mul(affine.factor, gradient), dx + at);
  }
};

// x, dy, dx: [rows, channels]. The statistics are constants here, so no sums over rows go into dx.
void batch_norm_backward_frozen(const BatchNormShape& s, const float* x, const Channels& channels,
                                Activation activation, const float* dy, float* dx) {
  const Vector limit = activation_limit(activation);
  if (activation == Activation::none) {
    map_columns(s.rows, s.channels, FrozenGradient<false>{channels, limit, s.stride, x, dy, dx});
  } else {
    map_columns(s.rows, s.channels, FrozenGradient<true>{channels, limit, s.stride, x, dy, dx});
  }
}

}  // namespace

void fill_batch_norm_target(BatchNormKernels<float>& table) {
  COT_SET(batch_norm_statistics, batch_norm_statistics);
  COT_SET(batch_norm_inverse_stddev, batch_norm_inverse_stddev);
  COT_SET(batch_norm_forward, batch_norm_forward);
  COT_SET(batch_norm_backward_parameters, batch_norm_backward_parameters);
  COT_SET(batch_norm_backward_input, batch_norm_backward_input);
  COT_SET(batch_norm_backward_frozen, batch_norm_backward_frozen);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(batch_norm, BatchNormKernels)
}  // namespace coterie::kernels::simd
#endif
