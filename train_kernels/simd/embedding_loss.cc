// Losses of rows against rows. Contracts: tables/embedding_loss.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/embedding_loss.cc"
#include "hwy/foreach_target.h"

#include <cmath>

#include "train_kernels/simd/math_inl.h"
#include "train_kernels/simd/sum_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/embedding_loss.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

// a.b, a.a and b.b.
struct Products {
  const float *a, *b;

  template <class Lanes>
  HWY_INLINE void add(const Lanes& lanes, size_t i, Vector* sums) const {
    const Vector left = lanes.load(a + i), right = lanes.load(b + i);
    sums[0] = hn::MulAdd(left, right, sums[0]);
    sums[1] = hn::MulAdd(left, left, sums[1]);
    sums[2] = hn::MulAdd(right, right, sums[2]);
  }
};

// to = p a + q b.
struct Combination {
  const float *a, *b;
  float* to;
  Vector p, q;

  template <class Lanes>
  HWY_INLINE void operator()(size_t i, const Lanes& lanes) const {
    lanes.store(hn::MulAdd(p, lanes.load(a + i), hn::Mul(q, lanes.load(b + i))), to + i);
  }
};

HWY_INLINE Vector splat_of(double value) { return splat(static_cast<float>(value)); }

// a, b, da, db: [rows, width]; labels: [rows]. A gradient that is null is not wanted.
void cosine_embedding(size_t rows, size_t width, const float* a, const float* b, const int32_t* labels, float margin,
                      float scale, float* da, float* db, LossSums* sums) {
  for (size_t row = 0; row < rows; ++row, a += width, b += width) {
    double products[3] = {};
    run_sums(width, Products{a, b}, products);
    // PyTorch's epsilon: a row of zeros has a cosine of 0 instead of NaN.
    const double square_a = products[1] + 1e-12, square_b = products[2] + 1e-12;
    const double lengths = std::sqrt(square_a * square_b), cosine = products[0] / lengths;
    const bool alike = labels[row] == 1, active = alike || cosine > static_cast<double>(margin);
    if (active) sums->loss += alike ? 1 - cosine : cosine - static_cast<double>(margin);
    // The cosine's gradient by a: b / (|a| |b|) - cosine a / |a|^2.
    const double slope = !active ? 0 : static_cast<double>(alike ? -scale : scale);
    const Vector across = splat_of(slope / lengths);
    if (da != nullptr) {
      for_each_vector(width, Combination{a, b, da + row * width, splat_of(-slope * cosine / square_a), across});
    }
    if (db != nullptr) {
      for_each_vector(width, Combination{b, a, db + row * width, splat_of(-slope * cosine / square_b), across});
    }
  }
}

// PyTorch's, added to each difference: rows that are equal have a distance whose root has a slope.
constexpr float kDistanceEpsilon = 1e-6f;

// Squared distances of the anchor from both.
struct Distances {
  const float *anchor, *positive, *negative;

  template <class Lanes>
  HWY_INLINE void add(const Lanes& lanes, size_t i, Vector* sums) const {
    const Vector x = lanes.load(anchor + i), epsilon = splat(kDistanceEpsilon);
    const Vector near = lanes.clear_rest(hn::Add(hn::Sub(x, lanes.load(positive + i)), epsilon));
    const Vector far = lanes.clear_rest(hn::Add(hn::Sub(x, lanes.load(negative + i)), epsilon));
    sums[0] = hn::MulAdd(near, near, sums[0]);
    sums[1] = hn::MulAdd(far, far, sums[1]);
  }
};

struct TripletGradient {
  const float *anchor, *positive, *negative;
  float *d_anchor, *d_positive, *d_negative;
  Vector to_positive, to_negative;

  template <class Lanes>
  HWY_INLINE void operator()(size_t i, const Lanes& lanes) const {
    const Vector x = lanes.load(anchor + i), epsilon = splat(kDistanceEpsilon);
    const Vector pull = hn::Mul(to_positive, hn::Add(hn::Sub(x, lanes.load(positive + i)), epsilon));
    const Vector push = hn::Mul(to_negative, hn::Add(hn::Sub(x, lanes.load(negative + i)), epsilon));
    if (d_anchor != nullptr) lanes.store(hn::Sub(pull, push), d_anchor + i);
    if (d_positive != nullptr) lanes.store(hn::Neg(pull), d_positive + i);
    if (d_negative != nullptr) lanes.store(push, d_negative + i);
  }
};

HWY_INLINE float* row_or_null(float* base, size_t offset) { return base == nullptr ? nullptr : base + offset; }

// anchor, positive, negative, and the gradients by them: [rows, width]. A gradient that is null is not wanted.
void triplet_margin(size_t rows, size_t width, const float* anchor, const float* positive, const float* negative,
                    float margin, float scale, float* d_anchor, float* d_positive, float* d_negative, LossSums* sums) {
  for (size_t row = 0; row < rows; ++row) {
    const size_t at = row * width;
    const float *a = anchor + at, *p = positive + at, *n = negative + at;
    double squares[2] = {};
    run_sums(width, Distances{a, p, n}, squares);
    const double near = std::sqrt(squares[0]), far = std::sqrt(squares[1]);
    const double loss = near - far + static_cast<double>(margin);
    const bool active = loss > 0;
    if (active) sums->loss += loss;
    const double factor = static_cast<double>(scale);
    for_each_vector(width,
                    TripletGradient{a, p, n, row_or_null(d_anchor, at), row_or_null(d_positive, at),
                                    row_or_null(d_negative, at), splat_of(active && near > 0 ? factor / near : 0),
                                    splat_of(active && far > 0 ? factor / far : 0)});
  }
}

}  // namespace

void fill_embedding_loss_target(EmbeddingLossKernels<float>& table) {
  COT_SET(cosine_embedding, cosine_embedding);
  COT_SET(triplet_margin, triplet_margin);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(embedding_loss, EmbeddingLossKernels)
}  // namespace coterie::kernels::simd
#endif
