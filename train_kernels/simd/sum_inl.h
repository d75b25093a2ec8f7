// Sums of many floats without the error of adding a million of them one after another: partial sums of 128
// addends, of 128 partial sums, and so on (a blocked sum; Higham, "Accuracy and Stability of Numerical
// Algorithms", 4.2). The order is a function of the counts alone. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_SUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_SUM_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_SUM_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_SUM_INL_H_
#endif

#include "train_kernels/simd/map_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

inline constexpr size_t kSumBlock = 128;

// Moves the sums of one level to the next and clears them.
template <size_t kCount>
HWY_INLINE void carry(Vector (&from)[kCount], Vector (&to)[kCount]) {
  for (size_t i = 0; i < kCount; ++i) {
    to[i] = hn::Add(to[i], from[i]);
    from[i] = hn::Zero(Tag());
  }
}

// kWide vectors of columns from `column`, `lanes` of the last of them (so kWide is 1 for a Part).
template <size_t kWide, size_t kSums, class Lanes, class Term>
HWY_INLINE void strip_sums(size_t rows, size_t column, const Lanes& lanes, const Term& term,
                           float* const (&sums)[kSums]) {
  typename Term::Column columns[kWide];
  Vector fine[kWide * kSums], middle[kWide * kSums], total[kWide * kSums];
  for (size_t w = 0; w < kWide; ++w) columns[w] = term.column(lanes, column + w * kLanes);
  for (size_t i = 0; i < kWide * kSums; ++i) fine[i] = middle[i] = total[i] = hn::Zero(Tag());
  for (size_t row = 0; row < rows;) {
    for (const size_t end = HWY_MIN(rows, row + kSumBlock); row < end; ++row) {
      for (size_t w = 0; w < kWide; ++w) {
        term.add(columns[w], lanes, row, column + w * kLanes, &fine[w * kSums]);
      }
    }
    carry(fine, middle);
    if (row % (kSumBlock * kSumBlock) == 0) carry(middle, total);
  }
  carry(middle, total);
  for (size_t w = 0; w < kWide; ++w) {
    for (size_t k = 0; k < kSums; ++k) lanes.store(total[w * kSums + k], sums[k] + column + w * kLanes);
  }
}

// sums[k][c] = the sum over rows of the term's k-th value in column c. A term has
//   struct Column: what does not change from row to row;  Column column(lanes, column) const;
//   void add(const Column&, lanes, row, column, Vector* sums) const: adds its values to sums[0 .. kSums).
template <size_t kSums, class Term>
HWY_INLINE void column_sums(size_t rows, size_t columns, const Term& term, float* const (&sums)[kSums]) {
  constexpr size_t kWide = 4 / kSums;
  size_t column = 0;
  for (; column + kWide * kLanes <= columns; column += kWide * kLanes) {
    strip_sums<kWide>(rows, column, Whole(), term, sums);
  }
  for (; column + kLanes <= columns; column += kLanes) strip_sums<1>(rows, column, Whole(), term, sums);
  if (column < columns) strip_sums<1>(rows, column, Part(columns - column), term, sums);
}

// sums[k] += the sum over i < n of the term's k-th value. A term has
//   void add(lanes, i, Vector* sums) const: adds its values at i to sums[0 .. kSums), nothing behind the
//   lanes.
template <size_t kSums, class Term>
HWY_INLINE void run_sums(size_t n, const Term& term, double (&sums)[kSums]) {
  constexpr size_t kWide = 4;
  const Tag d;
  for (size_t i = 0; i < n;) {
    Vector parts[kWide * kSums];
    for (Vector& part : parts) part = hn::Zero(d);
    const size_t end = HWY_MIN(n, i + kSumBlock * kWide * kLanes);
    for (; i + kWide * kLanes <= end; i += kWide * kLanes) {
      for (size_t w = 0; w < kWide; ++w) term.add(Whole(), i + w * kLanes, &parts[w * kSums]);
    }
    for (; i + kLanes <= end; i += kLanes) term.add(Whole(), i, parts);
    if (i < end) {
      term.add(Part(end - i), i, parts);
      i = end;
    }
    for (size_t k = 0; k < kSums; ++k) {
      const Vector all =
          hn::Add(hn::Add(parts[k], parts[kSums + k]), hn::Add(parts[2 * kSums + k], parts[3 * kSums + k]));
      sums[k] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, all)));
    }
  }
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
