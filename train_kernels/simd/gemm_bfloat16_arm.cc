// By bfmmla, which adds four products to each of the four sums of two rows of A and two columns of B. Operands become
// bfloat16 here, as in gemm_bfloat16.cc. A block of A and panels of B have one form: of each line - a row of A, a
// column of B - a group of four neighbours of k, two floats' worth, and beside it those of the lines behind it. So two
// neighbouring lines are an operand. What the product is: gemm_bfloat16_inl.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/gemm_bfloat16_arm.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/simd/gemm_bfloat16_inl.h"
#include "train_kernels/simd/gemm_tile_inl.h"

#if COT_TARGET_HAS_BFLOAT16 && HWY_ARCH_ARM_A64

#include <cstring>

// HWY_BEFORE_NAMESPACE for these instructions too. No lambda has them.
HWY_PUSH_ATTRIBUTES("arch=armv8.2-a+crypto+bf16")
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

constexpr size_t kBlockRows = 16;  // of A, in groups at a time
constexpr size_t kGroupFloats = kGroup / 2;
constexpr size_t kPairFloats = 2 * kGroupFloats;  // of two lines: a vector

HWY_INLINE uint16x4_t narrow(float32x4_t v) { return vreinterpret_u16_bf16(vcvt_bf16_f32(v)); }
HWY_INLINE uint16x8_t narrow(float32x4_t low, float32x4_t high) {
  return vreinterpretq_u16_bf16(vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(low), high));
}
HWY_INLINE uint16_t narrow(float v) { return vget_lane_u16(narrow(vdupq_n_f32(v)), 0); }

HWY_INLINE bfloat16x8_t load_pair(const float* from) { return vreinterpretq_bf16_f32(vld1q_f32(from)); }

// The first n of four, zeros behind.
HWY_INLINE float32x4_t load_first(const float* from, size_t n) {
  if (n >= kLanes) return vld1q_f32(from);
  float some[kLanes] = {};
  std::memcpy(some, from, n * sizeof *from);
  return vld1q_f32(some);
}

// A piece of a line as bfloat16, one behind the other.
struct Line {
  uint16_t values[kDepth];
  size_t count = 0;

  HWY_INLINE void add(const float* from, size_t n) {
    uint16_t* const to = values + count;
    size_t i = 0;
    for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
      vst1q_u16(to + i, narrow(vld1q_f32(from + i), vld1q_f32(from + i + kLanes)));
    }
    for (; i + kLanes <= n; i += kLanes) vst1_u16(to + i, narrow(vld1q_f32(from + i)));
    for (; i < n; ++i) to[i] = narrow(from[i]);
    count += n;
  }
  // Its groups; `to_step` floats lie between them.
  HWY_INLINE void store(float* to, size_t to_step) {
    while (count % kGroup != 0) values[count++] = 0;
    for (size_t i = 0; i < count; i += kGroup, to += to_step) std::memcpy(to, values + i, kGroup * sizeof *values);
  }
};
static_assert(kDepth % kGroup == 0);

// A group of each of four lines; of[i] has their i-th elements.
HWY_INLINE void store_groups(const float32x4_t (&of)[kGroup], float* to) {
  const uint16x8_t low = narrow(of[0], of[1]), high = narrow(of[2], of[3]);
  const uint16x8_t even = vzip1q_u16(low, high), odd = vzip2q_u16(low, high);
  vst1q_f32(to, vreinterpretq_f32_u16(vzip1q_u16(even, odd)));
  vst1q_f32(to + kPairFloats, vreinterpretq_f32_u16(vzip2q_u16(even, odd)));
}

// A block of A, [groups][rows]. Behind an odd number of rows there is one of zeros.
struct Block {
  static constexpr size_t kStep = kBlockRows * kGroupFloats;
  HWY_ALIGN float floats[kDepth / kGroup * kStep];
};

void fill_by_rows(const MatrixA& a, size_t first, size_t rows, size_t begin, size_t end, Block& block) {
  for (size_t r = 0; r < rows; ++r) {
    const float* row = a.base + a.rows.offset(first + r);
    Line line;
    for (RunParts part(a, begin, end); !part.is_done(); part.next()) line.add(row + part.at(), part.count());
    line.store(block.floats + r * kGroupFloats, Block::kStep);
  }
  if (rows % 2 == 0) return;
  float* zeros = block.floats + rows * kGroupFloats;
  for (size_t k = begin; k < end; k += kGroup, zeros += Block::kStep)
    std::memset(zeros, 0, kGroupFloats * sizeof *zeros);
}

// The elements of four rows at one k, which lie these offsets behind p; zeros behind the first n. kNeighbours: the
// offsets count up.
template <bool kNeighbours>
HWY_INLINE float32x4_t load_step(const float* p, const ptrdiff_t* offsets, size_t n) {
  if constexpr (kNeighbours) return load_first(p + offsets[0], n);
  float some[kLanes] = {};
  for (size_t i = 0; i < HWY_MIN(n, kLanes); ++i) some[i] = p[offsets[i]];
  return vld1q_f32(some);
}

template <bool kNeighbours>
void fill_steps(const float* base, const ptrdiff_t* offsets, size_t rows, const ptrdiff_t* steps, size_t count,
                float* to) {
  for (size_t k = 0; k < count; k += kGroup, to += Block::kStep) {
    for (size_t r = 0; r < rows; r += kLanes) {
      float32x4_t of[kGroup];
      for (size_t i = 0; i < kGroup; ++i) {
        of[i] = k + i < count ? load_step<kNeighbours>(base + steps[k + i], offsets + r, rows - r) : vdupq_n_f32(0);
      }
      store_groups(of, to + r * kGroupFloats);
    }
  }
}

// Rows of which the elements are far apart.
void fill_by_steps(const MatrixA& a, size_t first, size_t rows, size_t begin, size_t end, Block& block) {
  ptrdiff_t offsets[kBlockRows], steps[kDepth];
  for (size_t r = 0; r < rows; ++r) offsets[r] = a.rows.offset(first + r);
  size_t count = 0;
  for (RunParts part(a, begin, end); !part.is_done(); part.next()) {
    for (size_t i = 0; i < part.count(); ++i) steps[count++] = part.at() + static_cast<ptrdiff_t>(i) * a.step;
  }
  const bool neighbours = offsets[rows - 1] - offsets[0] == static_cast<ptrdiff_t>(rows - 1);
  if (neighbours) fill_steps<true>(a.base, offsets, rows, steps, count, block.floats);
  else fill_steps<false>(a.base, offsets, rows, steps, count, block.floats);
}

// kMr rows of a block and kNv vectors of a panel of groups, which begins at this column of C.
template <size_t kMr, size_t kNv, bool kPartial>
HWY_NOINLINE void tile(const float* a, size_t count, const float* b, size_t b_step, const MatrixC& c, size_t c_row,
                       size_t column, size_t last, const Finish& finish) {
  constexpr size_t kPairs = (kMr + 1) / 2;
  const Strip<kNv, kPartial> strip(last);
  float32x4_t squares[kPairs][2 * kNv];  // two rows by two columns
  COT_UNROLL for (size_t p = 0; p < kPairs; ++p) {
    COT_UNROLL for (size_t v = 0; v < 2 * kNv; ++v) squares[p][v] = vdupq_n_f32(0);
  }
  for (; count > 0; --count, a += Block::kStep, b += b_step) {
    bfloat16x8_t rows[kPairs];
    COT_UNROLL for (size_t p = 0; p < kPairs; ++p) rows[p] = load_pair(a + p * kPairFloats);
    COT_UNROLL for (size_t v = 0; v < 2 * kNv; ++v) {
      __asm__ volatile("" ::: "memory");  // no load earlier: GCC loads all of them first, and sums go to memory
      const bfloat16x8_t columns = load_pair(b + v * kPairFloats);
      COT_UNROLL for (size_t p = 0; p < kPairs; ++p) squares[p][v] = vbfmmlaq_f32(squares[p][v], rows[p], columns);
    }
  }
  Vector sums[kMr][kNv];
  COT_UNROLL for (size_t r = 0; r < kMr; ++r) {
    COT_UNROLL for (size_t v = 0; v < kNv; ++v) {
      const float32x4_t left = squares[r / 2][2 * v], right = squares[r / 2][2 * v + 1];
      sums[r][v].raw = r % 2 == 0 ? vcombine_f32(vget_low_f32(left), vget_low_f32(right))
                                  : vcombine_f32(vget_high_f32(left), vget_high_f32(right));
    }
  }
  finish_tile(sums, strip, finish, c, c_row, column);
}

using Tile = void (*)(const float*, size_t, const float*, size_t, const MatrixC&, size_t, size_t, size_t,
                      const Finish&);

// kTilesOf<rows>[vectors - 1][partial]
template <size_t kMr>
constexpr Tile kTilesOf[kTileVectors][2] = {{tile<kMr, 1, false>, tile<kMr, 1, true>},
                                            {tile<kMr, 2, false>, tile<kMr, 2, true>},
                                            {tile<kMr, 3, false>, tile<kMr, 3, true>}};

// A panel of groups, and where its product goes; a group of two would be so many floats behind the one before.
struct Panel {
  const float* groups;
  size_t stride, column, columns;
};

// A block of `rows` rows, which begin at row c_row of C, times a panel.
void block_product(const Block& block, bool, size_t rows, size_t count, const Panel& panel, const MatrixC& c,
                   size_t c_row, const Finish& finish) {
  const size_t vectors = (panel.columns + kLanes - 1) / kLanes, last = panel.columns - (vectors - 1) * kLanes;
  const size_t part = last != kLanes ? 1 : 0;
  size_t i = 0;
  const auto run = [&](Tile tile, size_t count_of_rows) {
    tile(block.floats + i * kGroupFloats, count, panel.groups, panel.stride * kGroupFloats, c, c_row + i, panel.column,
         last, finish);
    i += count_of_rows;
  };
  while (i + 8 <= rows) run(kTilesOf<8>[vectors - 1][part], 8);
  if (i + 4 <= rows) run(kTilesOf<4>[vectors - 1][part], 4);
  if (i + 2 <= rows) run(kTilesOf<2>[vectors - 1][part], 2);
  if (i < rows) run(kTilesOf<1>[vectors - 1][part], 1);
}

// Panel after panel: nobody has measured yet what several at once would save here.
size_t row_product(const Block&, bool, size_t, const float*, const MatrixB&, size_t, const MatrixC&, size_t,
                   const Finish&) {
  return 0;
}

// Rows [begin, end) of a panel of float32 as groups.
void fill_panel(const float* b, size_t row_stride, size_t begin, size_t end, size_t columns, float* to,
                size_t to_stride) {
  const float* rows = b + static_cast<ptrdiff_t>(begin) * static_cast<ptrdiff_t>(row_stride);
  for (size_t k = begin; k < end; k += kGroup, rows += kGroup * row_stride, to += to_stride * kGroupFloats) {
    for (size_t j = 0; j < columns; j += kLanes) {
      float32x4_t of[kGroup];
      for (size_t i = 0; i < kGroup; ++i) {
        of[i] = k + i < end ? load_first(rows + i * row_stride + j, columns - j) : vdupq_n_f32(0);
      }
      store_groups(of, to + j * kGroupFloats);
    }
  }
}

// The rows of a part: whole groups, and in front and behind those of groups that are other parts' too. Zeros behind the
// last row of all are of the part that has it.
struct PartOfRows {
  PartOfRows(size_t k, Range rows) {
    const size_t end = rows.end == k ? groups_of(k) * kGroup : rows.end;
    const size_t first = HWY_MIN(end, groups_of(rows.begin) * kGroup), last = HWY_MAX(first, end / kGroup * kGroup);
    front = {rows.begin, first};
    whole = {first, HWY_MAX(first, HWY_MIN(last, rows.end))};
    back = {last, end};
  }
  Range front, whole, back;
};

// One element of a panel of groups.
HWY_INLINE void set(float* panel, size_t columns, size_t row, size_t column, float value) {
  const uint16_t rounded = narrow(value);
  auto* const group = reinterpret_cast<uint8_t*>(panel + (row / kGroup * columns + column) * kGroupFloats);
  std::memcpy(group + row % kGroup * sizeof rounded, &rounded, sizeof rounded);
}

void pack_rows(size_t k, size_t n, Range rows, const float* b, size_t row_stride, float* to) {
  const size_t panel = panel_of(n);
  const PartOfRows part(k, rows);
  for (size_t column = 0; column < n; column += panel) {
    const size_t columns = HWY_MIN(panel, n - column);
    float* at = to + column * groups_of(k) * kGroupFloats;
    for (const Range some : {part.front, part.back}) {
      for (size_t row = some.begin; row < some.end; ++row) {
        for (size_t j = 0; j < columns; ++j) {
          set(at, panel, row, j, row < k ? b[(row - rows.begin) * row_stride + column + j] : 0.0f);
        }
      }
    }
    if (part.whole.size() == 0) continue;
    fill_panel(b + (part.whole.begin - rows.begin) * row_stride + column, row_stride, 0, part.whole.size(), columns,
               at + part.whole.begin / kGroup * kGroupFloats * panel, panel);
  }
}

void pack_columns(size_t k, size_t n, Range rows, const float* from, size_t row_stride, float* to) {
  const size_t panel = panel_of(n);
  const PartOfRows part(k, rows);
  for (size_t column = 0; column < n; column += panel) {
    const size_t columns = HWY_MIN(panel, n - column);
    float* at = to + column * groups_of(k) * kGroupFloats;
    for (size_t j = 0; j < columns; ++j) {
      const float* line_of = from + (column + j) * row_stride;
      for (const Range some : {part.front, part.back}) {
        for (size_t row = some.begin; row < some.end; ++row) {
          set(at, panel, row, j, row < k ? line_of[row - rows.begin] : 0.0f);
        }
      }
      for (size_t row = part.whole.begin; row < part.whole.end; row += kDepth) {
        Line line;
        line.add(line_of + row - rows.begin, HWY_MIN(kDepth, part.whole.end - row));
        line.store(at + (row / kGroup * panel + j) * kGroupFloats, panel * kGroupFloats);
      }
    }
  }
}

#include "train_kernels/simd/gemm_bfloat16_blocks_inl.h"

}  // namespace
}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_POP_ATTRIBUTES

// With the instructions that they are declared with, as in gemm_bfloat16.cc.
HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

void pack_bfloat16(size_t k, size_t n, Range rows, const float* b, size_t row_stride, float* to) {
  if (k == 1) return pack_b_rows(k, n, rows, b, row_stride, to);
  pack_rows(k, n, rows, b, row_stride, to);
}

void pack_bfloat16_transposed(size_t k, size_t n, Range rows, const float* from, size_t row_stride, float* to) {
  if (k == 1) return pack_b_transposed_rows(k, n, rows, from, row_stride, to);
  pack_columns(k, n, rows, from, row_stride, to);
}

void gemm_bfloat16(size_t m, size_t n, const MatrixA& a, const MatrixB& b, const MatrixC& c, const Finish& finish) {
  multiply(m, n, a, b, c, finish);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
