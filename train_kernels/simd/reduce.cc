// Reductions. Contracts: tables/reduce.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/reduce.cc"
#include "hwy/foreach_target.h"

#include <cmath>

#include "train_kernels/reference/reduce.h"
#include "train_kernels/simd/strided_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

struct InPlace {
  const ReductionLoops& loops;
  const float* x;
  HWY_INLINE const float* operator()(const std::array<ptrdiff_t, 2>& at, size_t, size_t row_dim, size_t, float*,
                                     ptrdiff_t* step) const {
    *step = loops.stride[0][row_dim];
    return x + at[0];
  }
};

struct SquareValue {
  HWY_INLINE Vector operator()(Vector x) const { return hn::Mul(x, x); }
};

struct Squares {
  const ReductionLoops& loops;
  const float* x;
  HWY_INLINE const float* operator()(const std::array<ptrdiff_t, 2>& at, size_t rows, size_t row_dim, size_t n,
                                     float* buffer, ptrdiff_t* step) const {
    *step = static_cast<ptrdiff_t>(n);
    for (size_t r = 0; r < rows; ++r) {
      map(n, buffer + r * n, SquareValue(), x + at[0] + static_cast<ptrdiff_t>(r) * loops.stride[0][row_dim]);
    }
    return buffer;
  }
};

template <bool kMax>
struct Extreme {
  HWY_INLINE Vector operator()(Vector a, Vector b) const { return kMax ? hn::Max(a, b) : hn::Min(a, b); }
  static HWY_INLINE float of(float a, float b) { return (kMax ? a < b : b < a) ? b : a; }
};

// y takes in one row of x.
template <bool kMax>
struct ExtremeRow {
  const ReductionLoops& loops;
  const float* x;
  float* y;
  HWY_INLINE void operator()(const std::array<ptrdiff_t, 2>& at) const {
    const size_t last = loops.rank - 1, n = loops.size[last];
    const float* from = x + at[0];
    float* to = y + at[1];
    if (loops.stride[1][last] != 0) return map(n, to, Extreme<kMax>(), from, static_cast<const float*>(to));
    size_t i = 0;
    if (n >= kLanes) {
      const Tag d;
      Vector best = hn::LoadU(d, from);
      for (i = kLanes; i + kLanes <= n; i += kLanes) best = Extreme<kMax>()(best, hn::LoadU(d, from + i));
      const Vector all = kMax ? hn::MaxOfLanes(d, best) : hn::MinOfLanes(d, best);
      *to = Extreme<kMax>::of(*to, hn::GetLane(all));
    }
    for (; i < n; ++i) *to = Extreme<kMax>::of(*to, from[i]);
  }
};

struct FillRow {
  const ReductionLoops& loops;
  float value;
  float* y;
  HWY_INLINE void operator()(const std::array<ptrdiff_t, 2>& at) const {
    for (size_t i = 0; i < loops.size[loops.rank - 1]; ++i) y[at[1] + static_cast<ptrdiff_t>(i)] = value;
  }
};

template <bool kMax>
void extreme(const ReductionLoops& loops, const float* x, float* y) {
  const ReductionLoops kept = reference::kept_loops(loops);
  // What any value replaces: y takes in the rows one by one, in whatever order they lie.
  for_each_row(kept, FillRow{kept, kMax ? -HUGE_VALF : HUGE_VALF, y});
  for_each_row(loops, ExtremeRow<kMax>{loops, x, y});
}

void reduce_forward(Reduction kind, const ReductionLoops& loops, const float* x, float* y) {
  switch (kind) {
    case Reduction::sum: return strided_sum(loops, 1, InPlace{loops, x}, FinishSum(), y);
    case Reduction::mean: {
      const double count = static_cast<double>(reference::reduced_count(loops));
      return strided_sum(loops, 1, InPlace{loops, x}, FinishSum{count}, y);
    }
    case Reduction::l2: return strided_sum(loops, 1, Squares{loops, x}, FinishSum{1, true}, y);
    case Reduction::max: return extreme<true>(loops, x, y);
    case Reduction::min: return extreme<false>(loops, x, y);
  }
}

// dx = dy factor, or dy x / y.
struct SpreadVector {
  RowInput dy, y;
  const float* x;
  Vector factor;
  float* dx;
  template <class Lanes>
  HWY_INLINE void operator()(size_t i, const Lanes& lanes) const {
    const Vector gradient = hn::Mul(dy.load(i, lanes), factor);
    if (x == nullptr) return lanes.store(gradient, dx + i);
    const Vector norm = y.load(i, lanes);
    const Vector value = hn::Div(hn::Mul(gradient, lanes.load(x + i)), norm);
    // The length of a zero vector has no derivative; 0 is the choice of PyTorch, where x / |x| would be NaN.
    lanes.store(hn::IfThenElse(hn::Eq(norm, hn::Zero(Tag())), hn::Zero(Tag()), value), dx + i);
  }
};
struct SpreadRow {
  const ReductionLoops& loops;
  const float *x, *y, *dy;  // x and y null: not read
  Vector factor;
  float* dx;
  HWY_INLINE void operator()(const std::array<ptrdiff_t, 2>& at) const {
    const size_t last = loops.rank - 1;
    const bool repeats = loops.stride[1][last] == 0;
    for_each_vector(loops.size[last], SpreadVector{{dy + at[1], repeats},
                                                   {y == nullptr ? nullptr : y + at[1], repeats},
                                                   x == nullptr ? nullptr : x + at[0],
                                                   factor,
                                                   dx + at[0]});
  }
};

// x, dx: the strides of operand 0; y, dy: those of operand 1, 0 along what is reduced. Only max, min and l2 read x and
// y.
void reduce_backward(Reduction kind, const ReductionLoops& loops, const float* x, const float* y, const float* dy,
                     float* dx) {
  if (kind == Reduction::max || kind == Reduction::min) return reference::extreme_backward(loops, x, y, dy, dx);
  const bool is_l2 = kind == Reduction::l2;
  const float count = kind == Reduction::mean ? static_cast<float>(reference::reduced_count(loops)) : 1;
  for_each_row(loops, SpreadRow{loops, is_l2 ? x : nullptr, is_l2 ? y : nullptr, dy, splat(1 / count), dx});
}

}  // namespace

void fill_reduce_target(ReduceKernels<float>& table) {
  COT_SET(reduce_forward, reduce_forward);
  COT_SET(reduce_backward, reduce_backward);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(reduce, ReduceKernels)
}  // namespace coterie::kernels::simd
#endif
