// The transform of a tile of real pixels, a vector of channels at once: rows, two of them as one complex row, then
// columns, of which half are enough. Source: Press et al., "Numerical Recipes", 3rd edition, 12.3. Compiled once per
// target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_FFT_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_FFT_TILE_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_FFT_TILE_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_FFT_TILE_INL_H_
#endif

#include <cstddef>

#include "train_kernels/fft_tiles.h"
#include "train_kernels/range.h"
#include "train_kernels/simd/fft_line_inl.h"
#include "train_kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// The first `count` lanes, all of them or some. Not Whole and Part of map_inl.h: transforms are large code to have
// twice.
struct Lanes {
  size_t count;

  HWY_INLINE Vector load(const float* p) const { return count == kLanes ? hn::LoadU(Tag(), p) : load_n(p, count); }
  HWY_INLINE void store(Vector v, float* p) const {
    if (count == kLanes) hn::StoreU(v, Tag(), p);
    else store_n(v, p, count);
  }
};

// Pixel (i, j) at base + i * row_step + j * column_step; around them zeros.
struct Plane {
  const float* base;
  ptrdiff_t row_step, column_step;
  size_t height, width;

  // Pixels [left, left + size) of a row, one every 2 kLanes floats; false if all of them are outside.
  bool gather(ptrdiff_t row, ptrdiff_t left, size_t size, Lanes lanes, float* to) const {
    const auto end = static_cast<ptrdiff_t>(width);
    const bool inside = row >= 0 && row < static_cast<ptrdiff_t>(height) && left < end;
    const float* from = base + row * row_step;
    for (size_t j = 0; j < size; ++j, to += 2 * kLanes) {
      const ptrdiff_t column = left + static_cast<ptrdiff_t>(j);
      const bool is_pixel = inside && column >= 0 && column < end;
      hn::StoreU(is_pixel ? lanes.load(from + column * column_step) : hn::Zero(Tag()), Tag(), to);
    }
    return inside;
  }
};

// Where finished pixels of one image go: rows `wanted`, `columns` of each, a vector of filters.
struct Finished {
  float* y;
  size_t row_step, column_step;
  Range wanted;
  size_t columns;
  const float* bias;  // null: none
  Activation activation;

  void write(const float* from, size_t row, size_t column, size_t count, Lanes lanes) const {
    if (row < wanted.begin || row >= wanted.end) return;
    const Vector start = bias == nullptr ? hn::Zero(Tag()) : lanes.load(bias);
    float* to = y + row * row_step + column * column_step;
    for (size_t j = 0; j < HWY_MIN(count, columns - column); ++j, from += 2 * kLanes, to += column_step) {
      const Vector value = hn::Add(hn::LoadU(Tag(), from), start);
      lanes.store(activated(activation, value), to);
    }
  }
};

// Buffers for a tile. Transforms are not scaled: a tile that went forward and back is 2 size^2 times what it was, and a
// product of two tiles 4 size^2 times.
struct TransformedTile {
  TransformedTile(const FftTiles& tiles, Scratch& scratch)
      : size(tiles.size),
        frequencies(tiles.frequencies),
        column_step((2 * size + 1) * kLanes),
        line(line_at(scratch.take<float>(2 * size * kLanes))),
        passes(scratch.take<float>(4 * size * kLanes)),
        half(scratch.take<float>(frequencies * column_step)) {}

  // An odd number of vectors apart: columns do not share the same places of the cache.
  ComplexLine column(size_t k) const { return line_at(half + k * column_step); }

  // All columns of the rows' transforms, of the tile whose first pixel is (top, left).
  HWY_NOINLINE void begin(const Plane& plane, ptrdiff_t top, ptrdiff_t left, Lanes lanes) const {
    for (size_t i = 0; i < size; i += 2) {
      const ptrdiff_t row = top + static_cast<ptrdiff_t>(i);
      const bool first = plane.gather(row, left, size, lanes, line.re);
      const bool second = plane.gather(row + 1, left, size, lanes, line.im);
      if (first || second) fft(size, line, line, passes);
      take_apart(i);
    }
  }

  // Rows i and i + 1 of each column, twice their transforms, from that of row i + sqrt(-1) row i + 1.
  void take_apart(size_t i) const {
    for (size_t k = 0; k < frequencies; ++k) {
      const Complex a = line.load(k), b = line.load(k == 0 ? 0 : size - k);
      column(k).store({hn::Add(a.re, b.re), hn::Sub(a.im, b.im)}, i);
      column(k).store({hn::Add(a.im, b.im), hn::Sub(b.re, a.re)}, i + 1);
    }
  }
  // The other way round.
  void put_together(size_t i) const {
    for (size_t k = 0; k < frequencies; ++k) {
      const Complex a = column(k).load(i), b = column(k).load(i + 1);
      if (k != 0) line.store({hn::Add(a.re, b.im), hn::Sub(b.re, a.im)}, size - k);
      line.store({hn::Sub(a.re, b.im), hn::Add(a.im, b.re)}, k);
    }
  }

  // line = the transform of column k, and back.
  void transform(size_t k) const { fft(size, column(k), line, passes); }
  void transform_back(size_t k) const { fft(size, line.exchanged(), column(k).exchanged(), passes); }

  // From all columns transformed back, the tile's `count_h` x `count_w` pixels to y from (row, first).
  HWY_NOINLINE void finish(const Finished& to, size_t row, size_t first, size_t count_h, size_t count_w,
                           Lanes lanes) const {
    const size_t end = HWY_MIN(row + count_h, to.wanted.end);
    for (size_t i = 0; row + i < end; i += 2) {
      if (row + i + 1 < to.wanted.begin) continue;
      put_together(i);
      fft(size, line.exchanged(), line.exchanged(), passes);
      to.write(line.re, row + i, first, count_w, lanes);
      if (i + 1 < count_h) to.write(line.im, row + i + 1, first, count_w, lanes);
    }
  }

  size_t size, frequencies, column_step;
  ComplexLine line;
  float *passes, *half;
};

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
