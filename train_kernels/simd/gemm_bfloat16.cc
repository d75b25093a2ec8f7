// By vdpbf16ps. Operands become bfloat16 here: A in blocks of rows, B in panels that were packed before, or a piece of
// a panel at a time. What the product is: gemm_bfloat16_inl.h. A group of k is a word of 32 bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/gemm_bfloat16.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/simd/gemm_bfloat16_inl.h"
#include "train_kernels/simd/gemm_tile_inl.h"

#if COT_TARGET_HAS_BFLOAT16 && HWY_TARGET == HWY_AVX3

// HWY_BEFORE_NAMESPACE for these instructions too.
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16")
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

constexpr size_t kBlockRows = 16;  // of A, in words at a time
constexpr size_t kPieceWords = kDepth / 2;
constexpr size_t kRowWords = kPieceWords + 16;  // between rows: not a power of two

HWY_INLINE __mmask16 first_lanes(size_t n) {
  return n >= kLanes ? __mmask16{0xffff} : static_cast<__mmask16>((1u << n) - 1);
}

// The two instructions by name: clang 16 does not come to an end with vectors of its type for bfloat16.
// To bfloat16: `low` in the lower half of the vector.
HWY_INLINE __m512i narrow(__m512 high, __m512 low) {
  __m512i both;
  __asm__("vcvtne2ps2bf16 %2, %1, %0" : "=v"(both) : "v"(high), "v"(low));
  return both;
}
// sum + a[odd] b[odd] + a[even] b[even] in each lane.
HWY_INLINE __m512 add_products(__m512 sum, __m512i a, __m512i b) {
  __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}

HWY_ALIGN constexpr uint16_t kZipped[2 * kLanes] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                    8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};

// A word of each lane: even[i] in its lower half, odd[i] in its upper.
HWY_INLINE __m512i words(__m512 even, __m512 odd) {
  return _mm512_permutexvar_epi16(_mm512_load_si512(kZipped), narrow(odd, even));
}

// Neighbours, one behind the other.
HWY_INLINE void narrow_row(const float* from, size_t count, uint16_t* to) {
  size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    _mm512_storeu_si512(to + i, narrow(_mm512_loadu_ps(from + i + kLanes), _mm512_loadu_ps(from + i)));
  }
  if (i == count) return;
  const size_t rest = count - i;
  const __m512 low = _mm512_maskz_loadu_ps(first_lanes(rest), from + i);
  const __m512 high =
      rest > kLanes ? _mm512_maskz_loadu_ps(first_lanes(rest - kLanes), from + i + kLanes) : _mm512_setzero_ps();
  _mm512_mask_storeu_epi16(to + i, static_cast<__mmask32>((uint64_t{1} << rest) - 1), narrow(high, low));
}

// A block of A: by rows [kBlockRows][kRowWords], or by words [kPieceWords][kBlockRows].
struct Block {
  HWY_ALIGN uint32_t words[kBlockRows * kRowWords];
};

void fill_by_rows(const MatrixA& a, size_t first, size_t rows, size_t begin, size_t end, Block& block) {
  for (size_t r = 0; r < rows; ++r) {
    auto* to = reinterpret_cast<uint16_t*>(block.words + r * kRowWords);
    const float* row = a.base + a.rows.offset(first + r);
    for (RunParts part(a, begin, end); !part.is_done(); part.next()) {
      narrow_row(row + part.at(), part.count(), to);
      to += part.count();
    }
    if ((end - begin) % 2 != 0) *to = 0;
  }
}

// An element of each row of a block; those of neighbouring rows are neighbours.
template <bool kNeighbours>
struct Elements {
  __mmask16 lanes;
  __m512i offsets;

  HWY_INLINE __m512 load(const float* p) const {
    if constexpr (kNeighbours) return _mm512_maskz_loadu_ps(lanes, p);
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), lanes, offsets, p, sizeof(float));
  }

  void fill(const MatrixA& a, const float* base, size_t begin, size_t end, uint32_t* to) const {
    __m512 held = _mm512_setzero_ps();  // the even one of a pair, if the odd one is of the next run
    bool holds = false;
    for (RunParts part(a, begin, end); !part.is_done(); part.next()) {
      const float* p = base + part.at();
      size_t count = part.count();
      if (holds) {
        _mm512_store_si512(to, words(held, load(p)));
        to += kBlockRows;
        p += a.step;
        --count;
      }
      for (; count >= 2; count -= 2, p += 2 * a.step, to += kBlockRows) {
        _mm512_store_si512(to, words(load(p), load(p + a.step)));
      }
      holds = count == 1;
      if (holds) held = load(p);
    }
    if (holds) _mm512_store_si512(to, words(held, _mm512_setzero_ps()));
  }
};

// Rows of which the elements are far apart.
void fill_by_steps(const MatrixA& a, size_t first, size_t rows, size_t begin, size_t end, Block& block) {
  const ptrdiff_t at = a.rows.offset(first);
  HWY_ALIGN int32_t offsets[kBlockRows] = {};
  for (size_t r = 0; r < rows; ++r) offsets[r] = static_cast<int32_t>(a.rows.offset(first + r) - at);
  const __mmask16 lanes = first_lanes(rows);
  const __m512i places = _mm512_load_si512(offsets);
  if (offsets[rows - 1] == static_cast<int32_t>(rows - 1)) {
    return Elements<true>{lanes, places}.fill(a, a.base + at, begin, end, block.words);
  }
  Elements<false>{lanes, places}.fill(a, a.base + at, begin, end, block.words);
}

// kMr rows of a block and kNv vectors of a panel of words, which begins at this column of C.
template <size_t kMr, size_t kNv, bool kByRows>
HWY_NOINLINE void tile(const uint32_t* a, size_t count, const float* b, size_t b_stride, const MatrixC& c, size_t c_row,
                       size_t column, size_t last, const Finish& finish) {
  constexpr size_t kRowStep = kByRows ? kRowWords : 1, kWordStep = kByRows ? 1 : kBlockRows;
  const Strip<kNv, true> strip(last);
  Vector sums[kMr][kNv];
  COT_UNROLL for (size_t r = 0; r < kMr; ++r) {
    COT_UNROLL for (size_t v = 0; v < kNv; ++v) sums[r][v] = hn::Zero(Tag());
  }
  for (; count > 0; --count, a += kWordStep, b += b_stride) {
    __m512i columns[kNv];
    COT_UNROLL for (size_t v = 0; v < kNv; ++v) columns[v] = _mm512_loadu_si512(b + v * kLanes);
    COT_UNROLL for (size_t r = 0; r < kMr; ++r) {
      const __m512i factor = _mm512_set1_epi32(static_cast<int32_t>(a[r * kRowStep]));
      COT_UNROLL for (size_t v = 0; v < kNv; ++v) { sums[r][v].raw = add_products(sums[r][v].raw, factor, columns[v]); }
    }
  }
  finish_tile(sums, strip, finish, c, c_row, column);
}

using Tile = void (*)(const uint32_t*, size_t, const float*, size_t, const MatrixC&, size_t, size_t, size_t,
                      const Finish&);

// kTilesOf<rows>[by rows][vectors - 1]
template <size_t kMr>
constexpr Tile kTilesOf[2][kTileVectors] = {{tile<kMr, 1, false>, tile<kMr, 2, false>, tile<kMr, 3, false>},
                                            {tile<kMr, 1, true>, tile<kMr, 2, true>, tile<kMr, 3, true>}};
// Tiles of one vector: as many sums as hide the latency of a multiply.
constexpr Tile kTallTiles[2] = {tile<kBlockRows, 1, false>, tile<kBlockRows, 1, true>};

// A panel of words, and where its product goes.
struct Panel {
  const float* words;
  size_t stride, column, columns;
};

// A block of `rows` rows, which begin at row c_row of C, times a panel.
void block_product(const Block& block, bool by_rows, size_t rows, size_t count, const Panel& panel, const MatrixC& c,
                   size_t c_row, const Finish& finish) {
  const size_t vectors = (panel.columns + kLanes - 1) / kLanes, last = panel.columns - (vectors - 1) * kLanes;
  const auto run = [&](Tile tile, size_t row) {
    tile(block.words + row * (by_rows ? kRowWords : 1), count, panel.words, panel.stride, c, c_row + row, panel.column,
         last, finish);
  };
  if (vectors == 1 && rows == kBlockRows) return run(kTallTiles[by_rows], 0);
  size_t i = 0;
  for (; i + 8 <= rows; i += 8) run(kTilesOf<8>[by_rows][vectors - 1], i);
  if (i + 4 <= rows) {
    run(kTilesOf<4>[by_rows][vectors - 1], i);
    i += 4;
  }
  if (i + 2 <= rows) {
    run(kTilesOf<2>[by_rows][vectors - 1], i);
    i += 2;
  }
  if (i < rows) run(kTilesOf<1>[by_rows][vectors - 1], i);
}

// A row alone is bound by latency, as in gemm.cc: it meets kPanels whole panels at once, and kMore vectors of the one
// behind them.
template <size_t kPanels, size_t kMore, bool kByRows>
HWY_NOINLINE void row_tile(const uint32_t* a, size_t count, const float* b, size_t b_stride, size_t panel_step,
                           const MatrixC& c, size_t c_row, size_t column, const Finish& finish) {
  constexpr size_t kSums = kPanels * kTileVectors + kMore, kWordStep = kByRows ? 1 : kBlockRows;
  Vector sums[1][kSums];
  COT_UNROLL for (size_t i = 0; i < kSums; ++i) sums[0][i] = hn::Zero(Tag());
  for (; count > 0; --count, a += kWordStep, b += b_stride) {
    const __m512i factor = _mm512_set1_epi32(static_cast<int32_t>(*a));
    COT_UNROLL for (size_t i = 0; i < kSums; ++i) {
      const float* const p = b + i / kTileVectors * panel_step + i % kTileVectors * kLanes;
      sums[0][i].raw = add_products(sums[0][i].raw, factor, _mm512_loadu_si512(p));
    }
  }
  finish_tile(sums, Strip<kSums, false>(kLanes), finish, c, c_row, column);
}

using RowTile = void (*)(const uint32_t*, size_t, const float*, size_t, size_t, const MatrixC&, size_t, size_t,
                         const Finish&);
// kRowTiles<by rows>[panels - 2][vectors behind them]
template <bool kByRows>
constexpr RowTile kRowTiles[2][3] = {{row_tile<2, 0, kByRows>, row_tile<2, 1, kByRows>, row_tile<2, 2, kByRows>},
                                     {row_tile<3, 0, kByRows>, row_tile<3, 1, kByRows>, row_tile<3, 2, kByRows>}};

// The first row of a block times as many of n columns of packed panels as two or three at a time take.
// Returns how many.
size_t row_product(const Block& block, bool by_rows, size_t count, const float* b, const MatrixB& matrix, size_t n,
                   const MatrixC& c, size_t c_row, const Finish& finish) {
  constexpr size_t kPanel = kTileVectors * kLanes;
  if (matrix.panel != kPanel) return 0;
  size_t column = 0;
  for (size_t left = n / kPanel; left >= 2;) {
    const size_t panels = left == 2 || left == 4 ? 2 : 3;
    left -= panels;
    const size_t rest = n - column - panels * kPanel;
    const size_t more = rest < kPanel && rest % kLanes == 0 ? rest / kLanes : 0;
    (by_rows ? kRowTiles<true> : kRowTiles<false>)[panels - 2][more](
        block.words, count, b + column / kPanel * matrix.panel_stride, matrix.panel, matrix.panel_stride, c, c_row,
        column, finish);
    column += panels * kPanel + more * kLanes;
  }
  return column;
}

// Rows [begin, end) of kNv vectors of a panel of float32 as words; of the last vector these lanes.
template <size_t kNv>
HWY_NOINLINE void fill_vectors(const float* b, size_t row_stride, size_t begin, size_t end, __mmask16 last, float* to,
                               size_t to_stride) {
  const auto step = static_cast<ptrdiff_t>(row_stride);
  const float* row = b + static_cast<ptrdiff_t>(begin) * step;
  for (size_t k = begin; k < end; k += 2, to += to_stride, row += 2 * step) {
    const bool is_pair = k + 1 < end;
    COT_UNROLL for (size_t v = 0; v < kNv; ++v) {
      const __mmask16 lanes = v + 1 == kNv ? last : __mmask16{0xffff};
      const __m512 even = _mm512_maskz_loadu_ps(lanes, row + v * kLanes);
      const __m512 odd = _mm512_maskz_loadu_ps(is_pair ? lanes : __mmask16{0}, row + step + v * kLanes);
      _mm512_storeu_si512(to + v * kLanes, words(even, odd));
    }
  }
}

void fill_panel(const float* b, size_t row_stride, size_t begin, size_t end, size_t columns, float* to,
                size_t to_stride) {
  const size_t vectors = (columns + kLanes - 1) / kLanes;
  const __mmask16 last = first_lanes(columns - (vectors - 1) * kLanes);
  const auto fill = vectors == 1 ? fill_vectors<1> : vectors == 2 ? fill_vectors<2> : fill_vectors<3>;
  fill(b, row_stride, begin, end, last, to, to_stride);
}

// One half of the words of a row: the other is of another part.
void pack_half(const float* from, size_t count, size_t half, float* to) {
  auto* halves = reinterpret_cast<uint16_t*>(to) + half;
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t some = HWY_MIN(kLanes, count - i);
    uint16_t rounded[kLanes];
    narrow_row(from + i, some, rounded);
    for (size_t j = 0; j < some; ++j) halves[2 * (i + j)] = rounded[j];
  }
}

// A part's first row, if it is odd, and its last, if it is even and not the last of all: whose pair is another part's.
struct Edges {
  Edges(size_t k, Range rows)
      : first(rows.begin % 2 != 0 && rows.begin < rows.end),
        last(rows.end % 2 != 0 && rows.end != k && rows.begin + first < rows.end),
        whole{rows.begin + first, rows.end - last} {}
  bool first, last;
  Range whole;
};

void pack_rows(size_t k, size_t n, Range rows, const float* b, size_t row_stride, float* to) {
  const size_t panel = panel_of(n);
  const Edges edges(k, rows);
  for (size_t column = 0; column < n; column += panel) {
    const size_t columns = HWY_MIN(panel, n - column);
    float* at = to + column * groups_of(k);
    const auto half = [&](size_t row) {
      pack_half(b + (row - rows.begin) * row_stride + column, columns, row % 2, at + row / 2 * panel);
    };
    if (edges.first) half(rows.begin);
    if (edges.last) half(rows.end - 1);
    if (edges.whole.size() > 0) {
      fill_panel(b + edges.first * row_stride + column, row_stride, 0, edges.whole.size(), columns,
                 at + edges.whole.begin / 2 * panel, panel);
    }
  }
}

void pack_columns(size_t k, size_t n, Range rows, const float* from, size_t row_stride, float* to) {
  const size_t panel = panel_of(n);
  const Edges edges(k, rows);
  HWY_ALIGN float turned[kPanelMax * kLanes];
  for (size_t column = 0; column < n; column += panel) {
    const size_t columns = HWY_MIN(panel, n - column);
    float* at = to + column * groups_of(k);
    const auto half = [&](size_t row) {
      float one[kPanelMax];
      for (size_t i = 0; i < columns; ++i) one[i] = from[(column + i) * row_stride + row - rows.begin];
      pack_half(one, columns, row % 2, at + row / 2 * panel);
    };
    if (edges.first) half(rows.begin);
    if (edges.last) half(rows.end - 1);
    for (size_t row = edges.whole.begin; row < edges.whole.end; row += 2 * kLanes) {
      const size_t some = HWY_MIN(2 * kLanes, edges.whole.end - row);
      for (size_t i = 0; i < columns; ++i) {
        auto* line = reinterpret_cast<uint16_t*>(turned + i * kLanes);
        narrow_row(from + (column + i) * row_stride + row - rows.begin, some, line);
        if (some % 2 != 0) line[some] = 0;
      }
      transpose(columns, groups_of(some), turned, kLanes, at + row / 2 * panel, panel);
    }
  }
}

#include "train_kernels/simd/gemm_bfloat16_blocks_inl.h"

}  // namespace
}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_POP_ATTRIBUTES

// With the instructions that they are declared with: GCC makes other functions of what is defined with more.
HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

void pack_bfloat16(size_t k, size_t n, Range rows, const float* b, size_t row_stride, float* to) {
  pack_rows(k, n, rows, b, row_stride, to);
}

void pack_bfloat16_transposed(size_t k, size_t n, Range rows, const float* from, size_t row_stride, float* to) {
  pack_columns(k, n, rows, from, row_stride, to);
}

void gemm_bfloat16(size_t m, size_t n, const MatrixA& a, const MatrixB& b, const MatrixC& c, const Finish& finish) {
  multiply(m, n, a, b, c, finish);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
