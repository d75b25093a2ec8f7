// The tiles of the matrix product, and the loops over them. The forms of A, B and C: gemm_inl.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/gemm.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/range.h"
#include "train_kernels/simd/gemm_inl.h"
#include "train_kernels/simd/gemm_tile_inl.h"
#include "train_kernels/simd/pack_a_inl.h"

#ifndef COT_OPAQUE
// Hides where a value came from. Without it the compilers turn one index that grows into a pointer a row that grows:
// eight additions where there was one, and the loop is bound by instructions instead of multiplies.
#define COT_OPAQUE(value) __asm__("" : "+r"(value))
// ASan sees the tiles, guard pages in the tests do too; UBSan on top of ASan multiplies their compile time by four.
#if defined(__clang__)
#define COT_NO_UBSAN __attribute__((no_sanitize("undefined")))
#else
#define COT_NO_UBSAN
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

// Rows of B that are fetched ahead of the multiplies: about two hundred cycles. B's panels come from L3 where A is
// long.
constexpr size_t kRowsAhead = 16;

// What a tile fetches into L2 meanwhile: a line of the next panel at each step of k.
struct Ahead {
  const float* next;
  size_t step;
};

// kMr rows, from a_row of A and c_row of C, and kNv vectors of columns from `column`; of the last vector only
// `last` lanes if kPartial.
template <size_t kMr, size_t kNv, bool kPartial, bool kNeighbours = false>
COT_NO_UBSAN HWY_NOINLINE void tile(const MatrixA& a, size_t a_row, const float* b, size_t b_stride, const MatrixC& c,
                                    size_t c_row, size_t column, size_t last, const Finish& finish,
                                    const Ahead& ahead) {
  const Tag d;
  const Strip<kNv, kPartial> strip(last);
  const float* rows[kMr];
  Vector sums[kMr][kNv];
  COT_UNROLL for (size_t r = 0; r < kMr; ++r) {
    rows[r] = a.base + a.rows.offset(a_row + r);
    COT_UNROLL for (size_t v = 0; v < kNv; ++v) sums[r][v] = hn::Zero(d);
  }
  if (finish.accumulate) {
    COT_UNROLL for (size_t r = 0; r < kMr; ++r) {
      const float* to = c.base + c.rows.offset(c_row + r) + column;
      COT_UNROLL for (size_t v = 0; v < kNv; ++v) __builtin_prefetch(to + v * kLanes, 1);
    }
  }
  const ptrdiff_t step = a.step;
  const float* next = ahead.next;
  const size_t next_step = ahead.step;
  for (size_t run = 0; run < a.run_count; ++run) {
    ptrdiff_t at = a.runs == nullptr ? 0 : a.runs[run];
    for (size_t left = a.run_length; left > 0; --left, at += step, b += b_stride) {
      COT_OPAQUE(at);
      if constexpr (kMr == kTileRows && kNv == kTileVectors) {
        __builtin_prefetch(next, 0, 2);
        next += next_step;
      }
      Vector columns[kNv];
      COT_UNROLL for (size_t v = 0; v < kNv; ++v) columns[v] = strip.load(b, v);
      COT_UNROLL for (size_t v = 0; v < kNv; ++v) __builtin_prefetch(b + kRowsAhead * b_stride + v * kLanes);
      COT_UNROLL for (size_t r = 0; r < kMr; ++r) {
        const Vector factor = hn::Set(d, kNeighbours ? rows[0][at + static_cast<ptrdiff_t>(r)] : rows[r][at]);
        COT_UNROLL for (size_t v = 0; v < kNv; ++v) sums[r][v] = hn::MulAdd(factor, columns[v], sums[r][v]);
      }
    }
  }
  finish_tile(sums, strip, finish, c, c_row, column);
}

using Tile = void (*)(const MatrixA&, size_t, const float*, size_t, const MatrixC&, size_t, size_t, size_t,
                      const Finish&, const Ahead&);

// AVX-512's masked moves of a whole vector take no longer than others, and the tiles without them are half of the code:
// a build for size has none. (AVX2's masked stores are slow on many CPUs.)
#if defined(__OPTIMIZE_SIZE__) && HWY_TARGET == HWY_AVX3
constexpr bool kAlwaysPart = true;
#else
constexpr bool kAlwaysPart = false;
#endif
// Nor has it tiles of two rows, tall ones of a part or ones that know neighbours: a third of what is left.
#if defined(__OPTIMIZE_SIZE__)
constexpr bool kFewTiles = true;
#else
constexpr bool kFewTiles = false;
#endif

// kTilesOf<rows>[vectors - 1][partial]
template <size_t kMr>
constexpr Tile kTilesOf[kTileVectors][2] = {
    {tile<kMr, 1, kAlwaysPart>, tile<kMr, 1, true>},
#if HWY_TARGET != HWY_EMU128
    {tile<kMr, 2, kAlwaysPart>, tile<kMr, 2, true>},
    {tile<kMr, 3, kAlwaysPart>, tile<kMr, 3, true>},
#endif
#if HWY_TARGET == HWY_SCALAR
    {tile<kMr, 4, false>, tile<kMr, 4, true>},
#endif
};

// Rows of one vector each: as many sums as hide the latency of a multiply.
constexpr size_t kTallRows = 2 * kTileRows;
constexpr bool kHasTallPart = !kFewTiles || kAlwaysPart;
constexpr size_t kTallPartRows = kHasTallPart ? kTallRows : kTileRows;
// kTallTiles[neighbours][partial]: rows of A that are neighbours need one address instead of one each.
constexpr Tile kTallTiles[2][2] = {
    {tile<kTallRows, 1, kAlwaysPart>, tile<kTallPartRows, 1, true>},
    {tile<kTallRows, 1, kAlwaysPart, !kFewTiles>, tile<kTallPartRows, 1, true, !kFewTiles>}};

// One panel of B, and where its product goes.
struct Panel {
  const float* b;
  size_t b_stride;
  const MatrixC& c;
  size_t column, vectors, last;
  const Finish& finish;

  // kMr rows.
  template <size_t kMr>
  HWY_INLINE void run(const MatrixA& a, size_t a_row, size_t c_row, const Ahead& ahead = {}) const {
    kTilesOf<kMr>[vectors - 1][last != kLanes](a, a_row, b, b_stride, c, c_row, column, last, finish, ahead);
  }
  HWY_INLINE void run_tall(const MatrixA& a, size_t a_row, size_t c_row) const {
    const bool neighbours = a.step != 1 && a.rows.offset(a_row + kTallRows - 1) - a.rows.offset(a_row) ==
                                               static_cast<ptrdiff_t>(kTallRows - 1);
    kTallTiles[neighbours][last != kLanes](a, a_row, b, b_stride, c, c_row, column, last, finish, {});
  }
};

// A row alone is bound by latency: each of its sums waits for the multiply before, and the three of one panel wait most
// of the time. So it meets several panels at once. (What fetches ahead then is the hardware: with a request of ours a
// line it took 6 % longer.)
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR || defined(__OPTIMIZE_SIZE__)
HWY_INLINE size_t row_product(size_t, const MatrixA&, size_t, const float*, const MatrixB&, const MatrixC&,
                              const Finish&) {
  return 0;
}
#else
// One row, kPanels whole panels from `column` on and kMore vectors of the one behind; b is the piece's first row of the
// first of them.
template <size_t kPanels, size_t kMore>
COT_NO_UBSAN HWY_NOINLINE void row_tile(const MatrixA& a, size_t row, const float* b, const MatrixB& matrix,
                                        const MatrixC& c, size_t column, const Finish& finish) {
  constexpr size_t kSums = kPanels * kTileVectors + kMore;
  const Tag d;
  const size_t b_stride = matrix.row_stride, b_panel = matrix.panel_stride;
  const float* const from = a.base + a.rows.offset(row);
  const ptrdiff_t step = a.step;
  Vector sums[1][kSums];
  COT_UNROLL for (size_t i = 0; i < kSums; ++i) sums[0][i] = hn::Zero(d);
  for (size_t run = 0; run < a.run_count; ++run) {
    ptrdiff_t at = a.runs == nullptr ? 0 : a.runs[run];
    for (size_t left = a.run_length; left > 0; --left, at += step, b += b_stride) {
      const Vector factor = hn::Set(d, from[at]);
      COT_UNROLL for (size_t i = 0; i < kSums; ++i) {
        const float* const p = b + i / kTileVectors * b_panel + i % kTileVectors * kLanes;
        sums[0][i] = hn::MulAdd(factor, hn::LoadU(d, p), sums[0][i]);
      }
    }
  }
  // What are panels in B are neighbours in C.
  finish_tile(sums, Strip<kSums, false>(kLanes), finish, c, row, column);
}

using RowTile = void (*)(const MatrixA&, size_t, const float*, const MatrixB&, const MatrixC&, size_t, const Finish&);
// kRowTiles[panels - 2][vectors behind them]
constexpr RowTile kRowTiles[2][kTileVectors] = {{row_tile<2, 0>, row_tile<2, 1>, row_tile<2, 2>},
                                                {row_tile<3, 0>, row_tile<3, 1>, row_tile<3, 2>}};

// A row times two or three panels of kTileVectors at a time, the last with the whole vectors that are left behind
// them. Returns how many columns it did.
HWY_INLINE size_t row_product(size_t n, const MatrixA& a, size_t row, const float* b, const MatrixB& matrix,
                              const MatrixC& c, const Finish& finish) {
  constexpr size_t kPanel = kTileVectors * kLanes;
  if (matrix.panel != kPanel) return 0;
  size_t column = 0;
  for (size_t left = n / kPanel; left >= 2;) {
    const size_t panels = left == 2 || left == 4 ? 2 : 3;
    left -= panels;
    const size_t rest = n - column - panels * kPanel;
    const size_t more = rest < kPanel && rest % kLanes == 0 ? rest / kLanes : 0;
    kRowTiles[panels - 2][more](a, row, b + column / kPanel * matrix.panel_stride, matrix, c, column, finish);
    column += panels * kPanel + more * kLanes;
  }
  return column;
}
#endif

// Rows [begin, end) times one panel.
HWY_INLINE void panel_product(const MatrixA& a, size_t begin, size_t end, const Panel& panel) {
  size_t i = begin;
  if (panel.vectors == 1 && (kHasTallPart || panel.last == kLanes)) {
    for (; i + kTallRows <= end; i += kTallRows) panel.run_tall(a, i, i);
  }
  if constexpr (kTileRows == 8) {
    for (; i + 8 <= end; i += 8) panel.run<8>(a, i, i);
  }
  for (; i + 4 <= end; i += 4) panel.run<4>(a, i, i);
  if constexpr (!kFewTiles) {
    for (; i + 2 <= end; i += 2) panel.run<2>(a, i, i);
  }
  for (; i < end; ++i) panel.run<1>(a, i, i);
}

// C (+)= A B for a piece of K; b is the piece's first row. Each block of A meets all panels while it is in L2.
void piece_product(size_t m, size_t n, const MatrixA& a, const float* b, const MatrixB& matrix, const MatrixC& c,
                   const Finish& finish) {
  const size_t panels = (n + matrix.panel - 1) / matrix.panel;
  const size_t depth = a.run_count * a.run_length;
  const MatrixA tiles{a.buffer, {nullptr, 1}, nullptr, 1, depth, static_cast<ptrdiff_t>(kTileRows)};
  for (size_t begin = 0; begin < m; begin += kPackedARows) {
    const size_t end = HWY_MIN(m, begin + kPackedARows);
    const size_t packed = pack_a(a, begin, end, panels);
    const size_t done = end - begin == 1 ? row_product(n, a, begin, b, matrix, c, finish) : 0;
    for (size_t p = (done + matrix.panel - 1) / matrix.panel; p < panels; ++p) {
      const size_t column = p * matrix.panel, count = HWY_MIN(matrix.panel, n - column);
      const size_t vectors = (count + kLanes - 1) / kLanes;
      const Panel panel{
          b + p * matrix.panel_stride, matrix.row_stride, c, column, vectors, count - (vectors - 1) * kLanes, finish};
      // A panel of one vector has too few sums to hide the latency of a multiply in tiles of kTileRows. Unless A is
      // packed, taller tiles take it below.
      const size_t whole = vectors == 1 ? packed : end - (end - begin) % kTileRows;
      const size_t count_of_tiles = (whole - begin) / kTileRows;
      Ahead ahead{b, 0};
      if (matrix.row_stride == matrix.panel && count_of_tiles > 0) {
        ahead = {p + 1 < panels ? panel.b + matrix.panel_stride : b, (matrix.panel - 1) / count_of_tiles + 1};
      }
      for (size_t i = begin; i < whole; i += kTileRows, ahead.next += depth * ahead.step) {
        if (i < packed) panel.run<kTileRows>(tiles, (i - begin) * depth, i, ahead);
        else panel.run<kTileRows>(a, i, i, ahead);
      }
      panel_product(a, whole, end, panel);
    }
  }
}

}  // namespace

void gemm(size_t m, size_t n, const MatrixA& a, const MatrixB& b, const MatrixC& c, const Finish& finish) {
  // A piece of K is several whole runs, or one of equal parts of a run.
  const size_t length = piece_length(a.run_length);
  const size_t runs = HWY_MAX(size_t{1}, kDepth / a.run_length);
  for (size_t run = 0; run < a.run_count; run += runs) {
    for (size_t from = 0; from < a.run_length; from += length) {
      MatrixA part = a;
      part.base += static_cast<ptrdiff_t>(from) * a.step;
      if (a.runs != nullptr) part.runs += run;
      part.run_count = HWY_MIN(runs, a.run_count - run);
      part.run_length = HWY_MIN(length, a.run_length - from);
      const bool first = run + from == 0;
      // Bias and activation belong to the whole sum: they come with the last piece of K, which adds to what the others
      // stored.
      const bool final = run + part.run_count == a.run_count && from + part.run_length == a.run_length;
      const Finish now{.accumulate = finish.accumulate || !first,
                       .activation = final ? finish.activation : Activation::none,
                       .bias = final ? finish.bias : nullptr,
                       .scale = finish.scale};
      piece_product(m, n, part, b.base + (run * a.run_length + from) * b.row_stride, b, c, now);
    }
  }
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
