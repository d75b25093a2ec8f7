// What the normalisations share: loops over rows that hold the constants of a few vectors of columns in
// registers, and means and variances of columns. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_COLUMNS_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_COLUMNS_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_COLUMNS_INL_H_
#endif

#include "train_kernels/simd/math_inl.h"
#include "train_kernels/simd/sum_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// Vectors of columns at a time, with about five constants each.
inline constexpr size_t kColumnVectors = kRegisters == 32 ? 4 : 2;

template <size_t kWide, class Lanes, class Op>
HWY_INLINE void map_strip(size_t begin, size_t end, size_t column, const Lanes& lanes, const Op& op) {
  typename Op::Column columns[kWide];
  for (size_t w = 0; w < kWide; ++w) columns[w] = op.column(lanes, column + w * kLanes);
  for (size_t row = begin; row < end; ++row) {
    for (size_t w = 0; w < kWide; ++w) op(columns[w], lanes, row, column + w * kLanes);
  }
}

// op(column constants, lanes, row, column) everywhere; Op::Column and op.column() as for column_sums.
template <class Op>
HWY_INLINE void map_columns(size_t rows, size_t columns, const Op& op) {
  constexpr size_t kWide = kColumnVectors,
                   kRows = 64;  // strips of a few rows: whole pages are read before the next
  for (size_t begin = 0; begin < rows; begin += kRows) {
    const size_t end = HWY_MIN(rows, begin + kRows);
    size_t column = 0;
    for (; column + kWide * kLanes <= columns; column += kWide * kLanes) {
      map_strip<kWide>(begin, end, column, Whole(), op);
    }
    for (; column + kLanes <= columns; column += kLanes) map_strip<1>(begin, end, column, Whole(), op);
    if (column < columns) map_strip<1>(begin, end, column, Part(columns - column), op);
  }
}

// Means, and sums of squared differences from them, of `count` values a lane. Merged as by Chan, Golub and
// LeVeque (1983): nothing cancels, however large the mean.
template <size_t kWide>
struct Moments {
  Vector mean[kWide], squares[kWide];
  size_t count;

  HWY_INLINE void clear() {
    for (size_t w = 0; w < kWide; ++w) mean[w] = squares[w] = hn::Zero(Tag());
    count = 0;
  }
  HWY_INLINE void merge(const Moments& other) {
    if (other.count == 0) return;
    const float both = static_cast<float>(count + other.count);
    const Vector share = splat(static_cast<float>(other.count) / both);
    const Vector weight = splat(static_cast<float>(count) * (static_cast<float>(other.count) / both));
    for (size_t w = 0; w < kWide; ++w) {
      const Vector delta = hn::Sub(other.mean[w], mean[w]);
      mean[w] = hn::MulAdd(delta, share, mean[w]);
      squares[w] = hn::Add(squares[w], hn::MulAdd(hn::Mul(delta, delta), weight, other.squares[w]));
    }
    count += other.count;
  }
};

// One strip of columns; kWide vectors from x.
template <size_t kWide, class Lanes>
struct MomentStrip {
  const float* x;
  size_t stride;
  const Lanes& lanes;
  Vector first[kWide];

  HWY_INLINE MomentStrip(const float* x_at, size_t row_stride, const Lanes& all_lanes)
      : x(x_at), stride(row_stride), lanes(all_lanes) {
    for (size_t w = 0; w < kWide; ++w) first[w] = lanes.load(x + w * kLanes);
  }
  HWY_INLINE Vector value(size_t row, size_t w) const {
    return hn::Sub(lanes.load(x + row * stride + w * kLanes), first[w]);
  }
  // The moments of rows [begin, end): two passes, the second over values still in the first cache.
  HWY_INLINE void block(size_t begin, size_t end, Moments<kWide>& m) const {
    m.clear();
    m.count = end - begin;
    for (size_t row = begin; row < end; ++row) {
      for (size_t w = 0; w < kWide; ++w) m.mean[w] = hn::Add(m.mean[w], value(row, w));
    }
    const Vector count = splat(static_cast<float>(m.count));
    for (size_t w = 0; w < kWide; ++w) m.mean[w] = hn::Div(m.mean[w], count);
    for (size_t row = begin; row < end; ++row) {
      for (size_t w = 0; w < kWide; ++w) {
        const Vector difference = hn::Sub(value(row, w), m.mean[w]);
        m.squares[w] = hn::MulAdd(difference, difference, m.squares[w]);
      }
    }
  }
};

template <size_t kWide, class Lanes, class Finish>
HWY_INLINE void strip_moments(const float* x, size_t rows, size_t stride, size_t column, const Lanes& lanes,
                              const Finish& finish) {
  const MomentStrip<kWide, Lanes> strip(x + column, stride, lanes);
  Moments<kWide> block, middle, total;
  middle.clear();
  total.clear();
  for (size_t row = 0; row < rows; row += kSumBlock) {
    strip.block(row, HWY_MIN(rows, row + kSumBlock), block);
    middle.merge(block);
    if ((row / kSumBlock + 1) % kSumBlock != 0) continue;
    total.merge(middle);
    middle.clear();
  }
  total.merge(middle);
  for (size_t w = 0; w < kWide; ++w) {
    finish(lanes, column + w * kLanes, hn::Add(strip.first[w], total.mean[w]), total.squares[w]);
  }
}

// finish(lanes, column, means, sums of squared differences from them) for every vector of columns.
template <class Finish>
HWY_INLINE void column_moments(const float* x, size_t rows, size_t columns, size_t stride, const Finish& finish) {
  constexpr size_t kWide = kColumnVectors;
  size_t column = 0;
  for (; column + kWide * kLanes <= columns; column += kWide * kLanes) {
    strip_moments<kWide>(x, rows, stride, column, Whole(), finish);
  }
  for (; column + kLanes <= columns; column += kLanes) {
    strip_moments<1>(x, rows, stride, column, Whole(), finish);
  }
  if (column < columns) strip_moments<1>(x, rows, stride, column, Part(columns - column), finish);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
