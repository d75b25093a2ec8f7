// The tiles of the matrix product, and the loops over them. The forms of A, B and C: gemm_inl.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/gemm.cc"
#include "hwy/foreach_target.h"

#include <limits>

#include "train_kernels/simd/gemm_inl.h"

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

constexpr size_t kRowBlock = 96;  // rows of A that pass over all panels before the next rows do

// Up to kNv vectors of neighbouring floats, the last of them cut to `last` lanes if kPartial.
template <size_t kNv, bool kPartial>
struct Strip {
  explicit Strip(size_t last_lanes) : last(last_lanes) {}

  HWY_INLINE Vector load(const float* p, size_t v) const {
    return kPartial && v + 1 == kNv ? last.load(p + v * kLanes) : hn::LoadU(Tag(), p + v * kLanes);
  }
  HWY_INLINE void store(Vector value, float* p, size_t v) const {
    if (kPartial && v + 1 == kNv) last.store(value, p + v * kLanes);
    else hn::StoreU(value, Tag(), p + v * kLanes);
  }
  Part last;
};

// Rows [row, row + kMr) and kNv vectors of columns from `column`; of the last vector only `last` lanes if kPartial.
template <size_t kMr, size_t kNv, bool kPartial>
COT_NO_UBSAN HWY_NOINLINE void tile(const MatrixA& a, size_t row, const float* b, size_t b_stride, const MatrixC& c,
                                    size_t column, size_t last, const Finish& finish) {
  const Tag d;
  const Strip<kNv, kPartial> strip(last);
  const float* rows[kMr];
  Vector sums[kMr][kNv];
  COT_UNROLL for (size_t r = 0; r < kMr; ++r) {
    rows[r] = a.base + a.rows.offset(row + r);
    COT_UNROLL for (size_t v = 0; v < kNv; ++v) sums[r][v] = hn::Zero(d);
  }
  const ptrdiff_t step = a.step;
  for (size_t run = 0; run < a.run_count; ++run) {
    ptrdiff_t at = a.runs == nullptr ? 0 : a.runs[run];
    for (size_t left = a.run_length; left > 0; --left, at += step, b += b_stride) {
      COT_OPAQUE(at);
      Vector columns[kNv];
      COT_UNROLL for (size_t v = 0; v < kNv; ++v) columns[v] = strip.load(b, v);
      COT_UNROLL for (size_t r = 0; r < kMr; ++r) {
        const Vector factor = hn::Set(d, rows[r][at]);
        COT_UNROLL for (size_t v = 0; v < kNv; ++v) sums[r][v] = hn::MulAdd(factor, columns[v], sums[r][v]);
      }
    }
  }
  if (finish.scale != 1) {
    const Vector scale = hn::Set(d, finish.scale);
    COT_UNROLL for (size_t r = 0; r < kMr; ++r) {
      COT_UNROLL for (size_t v = 0; v < kNv; ++v) sums[r][v] = hn::Mul(sums[r][v], scale);
    }
  }
  if (finish.bias != nullptr) {
    COT_UNROLL for (size_t v = 0; v < kNv; ++v) {
      const Vector bias = strip.load(finish.bias + column, v);
      COT_UNROLL for (size_t r = 0; r < kMr; ++r) sums[r][v] = hn::Add(sums[r][v], bias);
    }
  }
  const float floor = finish.relu ? 0.0f : -std::numeric_limits<float>::infinity();
  const Vector lowest = hn::Set(d, floor);
  if (finish.accumulate) {
    // Row by row: rows of C may overlap (dX of a convolution), so each is stored before the next is read.
    COT_UNROLL for (size_t r = 0; r < kMr; ++r) {
      float* to = c.base + c.rows.offset(row + r) + column;
      COT_UNROLL for (size_t v = 0; v < kNv; ++v) {
        strip.store(at_least(lowest, hn::Add(strip.load(to, v), sums[r][v])), to, v);
      }
    }
  } else {
    COT_UNROLL for (size_t r = 0; r < kMr; ++r) {
      float* to = c.base + c.rows.offset(row + r) + column;
      COT_UNROLL for (size_t v = 0; v < kNv; ++v) strip.store(at_least(lowest, sums[r][v]), to, v);
    }
  }
}

using Tile = void (*)(const MatrixA&, size_t, const float*, size_t, const MatrixC&, size_t, size_t, const Finish&);

// kTilesOf<rows>[vectors - 1][partial]
template <size_t kMr>
constexpr Tile kTilesOf[kTileVectors][2] = {
    {tile<kMr, 1, false>, tile<kMr, 1, true>},
#if HWY_TARGET != HWY_EMU128
    {tile<kMr, 2, false>, tile<kMr, 2, true>},
    {tile<kMr, 3, false>, tile<kMr, 3, true>},
#endif
#if HWY_TARGET == HWY_SCALAR
    {tile<kMr, 4, false>, tile<kMr, 4, true>},
#endif
};

// Rows [begin, end) times one panel.
HWY_INLINE void panel_product(const MatrixA& a, size_t begin, size_t end, const float* b, size_t b_stride,
                              const MatrixC& c, size_t column, size_t columns, const Finish& finish) {
  const size_t vectors = (columns + kLanes - 1) / kLanes;
  const size_t last = columns - (vectors - 1) * kLanes;
  const size_t partial = last != kLanes;
  size_t i = begin;
  if constexpr (kTileRows == 8) {
    for (; i + 8 <= end; i += 8) kTilesOf<8>[vectors - 1][partial](a, i, b, b_stride, c, column, last, finish);
  }
  for (; i + 4 <= end; i += 4) kTilesOf<4>[vectors - 1][partial](a, i, b, b_stride, c, column, last, finish);
  if (i + 2 <= end) {
    kTilesOf<2>[vectors - 1][partial](a, i, b, b_stride, c, column, last, finish);
    i += 2;
  }
  if (i < end) kTilesOf<1>[vectors - 1][partial](a, i, b, b_stride, c, column, last, finish);
}

}  // namespace

void gemm(size_t m, size_t n, const MatrixA& a, const MatrixB& b, const MatrixC& c, const Finish& finish) {
  const bool one_run = a.run_count == 1;
  const size_t total = one_run ? a.run_length : a.run_count;  // K is cut inside its one run, or between runs
  const size_t chunk = one_run ? kDepth : HWY_MAX(size_t{1}, kDepth / a.run_length);
  for (size_t from = 0; from < total; from += chunk) {
    const size_t count = HWY_MIN(chunk, total - from);
    MatrixA part = a;
    size_t k = from;
    if (one_run) {
      part.base += static_cast<ptrdiff_t>(from) * a.step;
      part.run_length = count;
    } else {
      part.runs += from;
      part.run_count = count;
      k = from * a.run_length;
    }
    const bool first = from == 0, final = from + count == total;
    const Finish now{.accumulate = finish.accumulate || !first,
                     .relu = final && finish.relu,
                     .bias = final ? finish.bias : nullptr,
                     .scale = finish.scale};
    for (size_t begin = 0; begin < m; begin += kRowBlock) {
      const size_t end = HWY_MIN(m, begin + kRowBlock);
      for (size_t column = 0, p = 0; column < n; column += kPanel, ++p) {
        panel_product(part, begin, end, b.base + p * b.panel_stride + k * b.row_stride, b.row_stride, c, column,
                      HWY_MIN(kPanel, n - column), now);
      }
    }
  }
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
