// One matrix product for everything: C = A B or C += A B, with bias and ReLU on the way out. Compiled once
// per target; the product itself in gemm.cc.
//
// The element (i, k) of A lies at rows.offset(i) + (offset of k): a dense matrix, its transpose, and the
// patches of a convolution, either way round, all have this form, so forward, dX and dW of both layers are
// this one loop and im2col never exists in memory. It is read where it lies, or, where its lines are far
// apart and used for several panels, from a packed copy of a block of rows that stays in L2. Each A element
// feeds two or three vectors, so a broadcast load is free beside the multiplies.
//
// B is read along its rows, one panel of columns at a time; pack_b copies it into panels first when it is
// both wide and read often (one stream of memory instead of a page per row). Source of the blocking: Van Zee
// and van de Geijn, "BLIS: A Framework for Rapidly Instantiating BLAS Functionality", 2015.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_GEMM_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_GEMM_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_GEMM_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "train_kernels/range.h"
#include "train_kernels/simd/vector_inl.h"
#include "train_kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// Tile: kTileRows x kTileVectors accumulators, one register a B vector, one or two for A.
inline constexpr size_t kTileRows = kRegisters == 32 ? 8 : 4;
inline constexpr size_t kTileVectors = HWY_TARGET == HWY_SCALAR ? 4 : HWY_TARGET == HWY_EMU128 ? 1 : 3;
static_assert(kTileVectors * kLanes <= kPanelMax);

constexpr size_t panel_of(size_t n) { return panel_columns(n, kLanes, kTileVectors); }
constexpr size_t packed_b_floats(size_t k, size_t n) { return packed_floats(k, n, panel_of(n)); }

#if defined(__clang__)
#define COT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define COT_UNROLL _Pragma("GCC unroll 16")
#endif
#if defined( \
    __OPTIMIZE_SIZE__)  // a transposition is 2 KiB, and inlined six times; a dense product 2, and in each convolution
#define COT_INLINE_UNLESS_SMALL inline HWY_NOINLINE
#else
#define COT_INLINE_UNLESS_SMALL HWY_INLINE
#endif

// Where row i begins, in floats: from a table, or evenly spaced.
struct Rows {
  const int32_t* table;
  ptrdiff_t stride;

  HWY_INLINE ptrdiff_t offset(size_t i) const {
    return table != nullptr ? ptrdiff_t{table[i]} : static_cast<ptrdiff_t>(i) * stride;
  }
};

// k runs over run_count runs of run_length; element k = run * run_length + j lies at runs[run] + j * step
// behind its row. Without a table there is one run, at 0. Where step is not 1, or there is a buffer, the
// rows' offsets ascend.
struct MatrixA {
  const float* base;
  Rows rows;
  const int32_t* runs;
  size_t run_count;
  size_t run_length;
  ptrdiff_t step;
  float* buffer = nullptr;  // of packed_a_floats; null: A is read where it lies
};

// Row k of panel p begins at base + p * panel_stride + k * row_stride; a panel has `panel` columns.
struct MatrixB {
  const float* base;
  size_t row_stride;
  size_t panel_stride;
  size_t panel;
};

struct MatrixC {
  float* base;
  Rows rows;
};

// What happens to the product: scaled; added to C or stored; then bias (unless null) is added and the activation
// applied.
struct Finish {
  bool accumulate = false;
  Activation activation = Activation::none;
  const float* bias = nullptr;
  float scale = 1;
};

// C[m, n] (+)= A[m, K] B[K, n]. Defined in gemm.cc, once per target.
void gemm(size_t m, size_t n, const MatrixA& a, const MatrixB& b, const MatrixC& c, const Finish& finish);

// A row-major B of n columns as it lies.
HWY_INLINE MatrixB plain_b(size_t n, const float* b, size_t row_stride) {
  return {b, row_stride, panel_of(n), panel_of(n)};
}

// Packing pays when there is more than one panel and each is read for many rows.
HWY_INLINE bool worth_packing(size_t m, size_t n) { return n > panel_of(n) && m >= kPackedRowsMin; }

// A few vectors: memcpy's call would cost as much.
HWY_INLINE void copy(const float* from, size_t count, float* to) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(hn::LoadU(Tag(), from + i), Tag(), to + i);
  if (i < count) store_n(load_n(from + i, count - i), to + i, count - i);
}

// B[k, n] in panels: what pack_b makes of it.
HWY_INLINE MatrixB packed_b(size_t k, size_t n, const float* packed) {
  return {packed, panel_of(n), k * panel_of(n), panel_of(n)};
}

// Rows of B[k, n], of which the first lies at `b`, into panels; `to` holds packed_b_floats(k, n). Some rows at a time:
// lines as long as the hardware follows, and as few pages.
COT_INLINE_UNLESS_SMALL void pack_b_rows(size_t k, size_t n, Range rows, const float* b, size_t row_stride, float* to) {
  const size_t panel = panel_of(n);
  constexpr size_t kRowsAtOnce = 8;
  for (size_t first = 0; first < rows.size(); first += kRowsAtOnce) {
    const size_t last = HWY_MIN(rows.size(), first + kRowsAtOnce);
    for (size_t column = 0; column < n; column += panel) {
      const size_t columns = HWY_MIN(panel, n - column);
      float* at = to + column * k + rows.begin * panel;
      for (size_t row = first; row < last; ++row) copy(b + row * row_stride + column, columns, at + row * panel);
    }
  }
}

// All of it.
HWY_INLINE MatrixB pack_b(size_t k, size_t n, const float* b, size_t row_stride, float* to) {
  pack_b_rows(k, n, {0, k}, b, row_stride, to);
  return packed_b(k, n, to);
}

#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
// Four floats of each of D's 128-bit blocks: block b from p + b * step.
HWY_INLINE hn::Vec<hn::FixedTag<float, 4>> load_blocks(hn::FixedTag<float, 4> d, const float* p, size_t) {
  return hn::LoadU(d, p);
}
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
HWY_INLINE hn::Vec<hn::FixedTag<float, 8>> load_blocks(hn::FixedTag<float, 8> d, const float* p, size_t step) {
  const hn::FixedTag<float, 4> half;
  return hn::Combine(d, hn::LoadU(half, p + step), hn::LoadU(half, p));
}
#endif
#if HWY_TARGET == HWY_AVX3
HWY_INLINE hn::Vec<hn::FixedTag<float, 16>> load_blocks(hn::FixedTag<float, 16> d, const float* p, size_t step) {
  const hn::FixedTag<float, 8> half;
  return hn::Combine(d, load_blocks(half, p + 2 * step, step), load_blocks(half, p, step));
}
#endif

// Columns [0, 4) of as many rows at p as D has lanes: a vector takes every fourth row, 4 x 4 blocks are
// turned in it, and each result is a whole column.
template <class D>
HWY_INLINE void turn_columns(D d, const float* p, size_t stride, hn::Vec<D> (&columns)[4]) {
  const size_t step = 4 * stride;
  const auto x0 = load_blocks(d, p, step), x1 = load_blocks(d, p + stride, step);
  const auto x2 = load_blocks(d, p + 2 * stride, step), x3 = load_blocks(d, p + 3 * stride, step);
  const auto low02 = hn::InterleaveLower(d, x0, x2), low13 = hn::InterleaveLower(d, x1, x3);
  const auto high02 = hn::InterleaveUpper(d, x0, x2), high13 = hn::InterleaveUpper(d, x1, x3);
  columns[0] = hn::InterleaveLower(d, low02, low13);
  columns[1] = hn::InterleaveUpper(d, low02, low13);
  columns[2] = hn::InterleaveLower(d, high02, high13);
  columns[3] = hn::InterleaveUpper(d, high02, high13);
}

#if HWY_TARGET == HWY_AVX3 && !defined(__OPTIMIZE_SIZE__)
// A block of 16 x 16. Each row's line of the cache is read once: lines of rows a page apart share so few places of L1
// that four readings of a quarter would be three of L2.
HWY_INLINE void transpose_block(const float* from, size_t from_stride, float* to, size_t to_stride) {
  const Tag d;
  const hn::RepartitionToWide<Tag> pairs;
  Vector rows[16], turned[16];
  COT_UNROLL for (size_t r = 0; r < 16; ++r) rows[r] = hn::LoadU(d, from + r * from_stride);
  COT_UNROLL for (size_t r = 0; r < 16; r += 2) {
    turned[r] = hn::InterleaveLower(d, rows[r], rows[r + 1]);
    turned[r + 1] = hn::InterleaveUpper(d, rows[r], rows[r + 1]);
  }
  // Block b of rows[4 q + c] becomes column 4 b + c of the four rows from 4 q on.
  COT_UNROLL for (size_t q = 0; q < 16; q += 4) {
    COT_UNROLL for (size_t half = 0; half < 2; ++half) {
      const auto a = hn::BitCast(pairs, turned[q + half]), b = hn::BitCast(pairs, turned[q + 2 + half]);
      rows[q + 2 * half] = hn::BitCast(d, hn::InterleaveLower(pairs, a, b));
      rows[q + 2 * half + 1] = hn::BitCast(d, hn::InterleaveUpper(pairs, a, b));
    }
  }
  COT_UNROLL for (size_t c = 0; c < 4; ++c) {
    COT_UNROLL for (size_t half = 0; half < 2; ++half) {
      // Two blocks of quads 0 and 2, and of quads 1 and 3.
      const Vector even =
          half == 0 ? hn::ConcatLowerLower(d, rows[8 + c], rows[c]) : hn::ConcatUpperUpper(d, rows[8 + c], rows[c]);
      const Vector odd = half == 0 ? hn::ConcatLowerLower(d, rows[12 + c], rows[4 + c])
                                   : hn::ConcatUpperUpper(d, rows[12 + c], rows[4 + c]);
      float* const column = to + (8 * half + c) * to_stride;
      hn::StoreU(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd), even), d, column);
      hn::StoreU(hn::OddEvenBlocks(odd, hn::SwapAdjacentBlocks(even)), d, column + 4 * to_stride);
    }
  }
}
#endif

template <class D>
HWY_INLINE void transpose_rows(D d, size_t columns, const float* from, size_t from_stride, float* to,
                               size_t to_stride) {
  size_t c = 0;
#if HWY_TARGET == HWY_AVX3 && !defined(__OPTIMIZE_SIZE__)
  if constexpr (hn::MaxLanes(D()) == 16) {
    for (; c + 16 <= columns; c += 16) transpose_block(from + c, from_stride, to + c * to_stride, to_stride);
  }
#endif
  for (; c + 4 <= columns; c += 4) {
    hn::Vec<D> turned[4];
    turn_columns(d, from + c, from_stride, turned);
    COT_UNROLL for (size_t i = 0; i < 4; ++i) hn::StoreU(turned[i], d, to + (c + i) * to_stride);
  }
  for (; c < columns; ++c) {
    for (size_t i = 0; i < hn::Lanes(d); ++i) to[c * to_stride + i] = from[i * from_stride + c];
  }
}
#endif

// to[c, r] = from[r, c].
COT_INLINE_UNLESS_SMALL void transpose(size_t rows, size_t columns, const float* from, size_t from_stride, float* to,
                                       size_t to_stride) {
  size_t r = 0;
#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, kLanes> whole;
  const hn::FixedTag<float, 4> quarter;
#if HWY_TARGET == HWY_AVX3
  const hn::FixedTag<float, 8> half;
#endif
  for (; r + kLanes <= rows; r += kLanes)
    transpose_rows(whole, columns, from + r * from_stride, from_stride, to + r, to_stride);
#if HWY_TARGET == HWY_AVX3
  if (r + 8 <= rows) {
    transpose_rows(half, columns, from + r * from_stride, from_stride, to + r, to_stride);
    r += 8;
  }
#endif
  for (; r + 4 <= rows; r += 4)
    transpose_rows(quarter, columns, from + r * from_stride, from_stride, to + r, to_stride);
#endif
  for (; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

// Rows of B = (from[n, ..])^T into panels; the first is the column at `from`.
COT_INLINE_UNLESS_SMALL void pack_b_transposed_rows(size_t k, size_t n, Range rows, const float* from,
                                                    size_t row_stride, float* to) {
  const size_t panel = panel_of(n);
  for (size_t column = 0; column < n; column += panel) {
    transpose(HWY_MIN(panel, n - column), rows.size(), from + column * row_stride, row_stride,
              to + column * k + rows.begin * panel, panel);
  }
}

// All of it.
HWY_INLINE MatrixB pack_b_transposed(size_t k, size_t n, const float* from, size_t row_stride, float* to) {
  pack_b_transposed_rows(k, n, {0, k}, from, row_stride, to);
  return packed_b(k, n, to);
}

// to[j] = the sum of from[i, j] over i, for kWide vectors of columns: even rows and odd ones apart.
template <size_t kWide>
HWY_INLINE void whole_column_sums(size_t rows, size_t stride, const float* from, float* to) {
  const Tag d;
  Vector even[kWide], odd[kWide];
  COT_UNROLL for (size_t v = 0; v < kWide; ++v) even[v] = odd[v] = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 <= rows; i += 2, from += 2 * stride) {
    COT_UNROLL for (size_t v = 0; v < kWide; ++v) {
      even[v] = hn::Add(even[v], hn::LoadU(d, from + v * kLanes));
      odd[v] = hn::Add(odd[v], hn::LoadU(d, from + stride + v * kLanes));
    }
  }
  COT_UNROLL for (size_t v = 0; v < kWide; ++v) {
    if (i < rows) even[v] = hn::Add(even[v], hn::LoadU(d, from + v * kLanes));
    hn::StoreU(hn::Add(even[v], odd[v]), d, to + v * kLanes);
  }
}

// to[j] = the sum of from[i, j] over i.
COT_INLINE_UNLESS_SMALL void column_sums(size_t rows, size_t columns, const float* from, float* to) {
  const Tag d;
  if (columns <= kLanes) {
    // kLanes rows are `columns` whole vectors: no lane idles, and the columns are taken apart at the end.
    HWY_ALIGN float sums[kLanes * kLanes] = {};
    size_t i = 0;
    for (; i + kLanes <= rows; i += kLanes) {
      const float* p = from + i * columns;
      for (size_t v = 0; v < columns; ++v) {
        hn::Store(hn::Add(hn::Load(d, sums + v * kLanes), hn::LoadU(d, p + v * kLanes)), d, sums + v * kLanes);
      }
    }
    for (size_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (size_t r = 0; r < kLanes; ++r) sum += sums[r * columns + j];
      for (size_t r = i; r < rows; ++r) sum += from[r * columns + j];
      to[j] = sum;
    }
    return;
  }
  // Some vectors at a time, so that neither a page nor what the hardware fetches ahead of a line is left after one.
  constexpr size_t kWide = 4;
  size_t j = 0;
  for (; j + kWide * kLanes <= columns; j += kWide * kLanes) whole_column_sums<kWide>(rows, columns, from + j, to + j);
  for (; j + kLanes <= columns; j += kLanes) whole_column_sums<1>(rows, columns, from + j, to + j);
  if (j == columns) return;
  Vector sum = hn::Zero(d);
  for (size_t i = 0; i < rows; ++i) sum = hn::Add(sum, load_n(from + i * columns + j, columns - j));
  store_n(sum, to + j, columns - j);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
