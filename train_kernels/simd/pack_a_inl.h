// A packed copy of a block of A for gemm.cc: tiles of rows, so that a step of k reads neighbours. Compiled once per
// target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_PACK_A_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_PACK_A_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_PACK_A_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_PACK_A_INL_H_
#endif

#include <cstddef>
#include <cstring>

#include "train_kernels/simd/gemm_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// Panels that pay for a packed copy of A's columns, of columns whose elements are far apart, and of lines. Lines are
// read where they lie, but for those a page apart: those share the same few places of the cache.
inline constexpr size_t kPanelsOfColumns = 3;
inline constexpr size_t kPanelsOfFarColumns = 2;
inline constexpr ptrdiff_t kFar = 128;
inline constexpr size_t kPanelsOfLines = 4;
inline constexpr size_t kPageFloats = 1024;

inline constexpr size_t kLineFloats = 16;  // of the cache
// Steps of k that are fetched ahead where each lies in a line of its own.
inline constexpr size_t kColumnsAhead = 16;

// Tiles of kTileRows rows of A, column by column: tile t begins at to + t * kTileRows * depth.
struct PackedTiles {
  const MatrixA& a;
  size_t begin, count, depth;

  float* tile(size_t t) const { return a.buffer + t * kTileRows * depth; }
  ptrdiff_t offset(size_t t, size_t r) const { return a.rows.offset(begin + t * kTileRows + r); }
  // As columns of a matrix are, and the taps of whole groups of channels.
  bool are_neighbours(size_t t) const {
    return offset(t, kTileRows - 1) - offset(t, 0) == static_cast<ptrdiff_t>(kTileRows - 1);
  }

  // Rows that are lines.
  void pack_lines() const {
    for (size_t t = 0; t < count; ++t) {
      float* to = tile(t);
      for (size_t run = 0; run < a.run_count; ++run, to += a.run_length * kTileRows) {
        const float* from = a.base + (a.runs == nullptr ? 0 : a.runs[run]) + offset(t, 0);
        transpose(kTileRows, a.run_length, from, static_cast<size_t>(a.rows.stride), to, kTileRows);
      }
    }
  }
  // Neighbouring rows, of kAtOnce tiles. (All tiles of a step at once would read memory in its order, but write to as
  // many places as there are tiles, all of them in the same few lines of the cache: slower.)
  template <size_t kAtOnce>
  void pack_columns(size_t t) const {
    float* to = tile(t);
    for (size_t run = 0; run < a.run_count; ++run) {
      const float* row = a.base + (a.runs == nullptr ? 0 : a.runs[run]) + offset(t, 0);
      for (size_t left = a.run_length; left > 0; --left, row += a.step, to += kTileRows) {
        __builtin_prefetch(row + static_cast<ptrdiff_t>(kColumnsAhead) * a.step);
        COT_UNROLL for (size_t i = 0; i < kAtOnce; ++i) {
          std::memcpy(to + i * kTileRows * depth, row + i * kTileRows, kTileRows * sizeof(float));
        }
      }
    }
  }
  // A line of the cache at a time where its tiles are neighbours too.
  void pack_columns() const {
    constexpr size_t kAtOnce = kLineFloats / kTileRows;
    for (size_t t = 0; t < count;) {
      const bool is_line = t + kAtOnce <= count && offset(t + kAtOnce - 1, 0) - offset(t, 0) ==
                                                       static_cast<ptrdiff_t>((kAtOnce - 1) * kTileRows);
      if (is_line) pack_columns<kAtOnce>(t);
      else pack_columns<1>(t);
      t += is_line ? kAtOnce : 1;
    }
  }
};

// Packs the whole tiles of rows [begin, end) where that pays; returns where those end.
HWY_INLINE size_t pack_a(const MatrixA& a, size_t begin, size_t end, size_t panels) {
  const PackedTiles tiles{a, begin, (end - begin) / kTileRows, a.run_count * a.run_length};
  const bool lines = a.rows.table == nullptr && a.step == 1 && a.rows.stride != 1;
  if (lines && static_cast<size_t>(a.rows.stride) % kPageFloats != 0) return begin;
  const size_t least = lines ? kPanelsOfLines : a.step < kFar ? kPanelsOfColumns : kPanelsOfFarColumns;
  if (a.buffer == nullptr || panels < least) return begin;
  if (lines) {
    tiles.pack_lines();
  } else {
    for (size_t t = 0; t < tiles.count; ++t) {
      if (!tiles.are_neighbours(t)) return begin;
    }
    tiles.pack_columns();
  }
  return begin + tiles.count * kTileRows;
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
