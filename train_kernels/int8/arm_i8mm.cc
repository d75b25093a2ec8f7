// 64-bit ARM with products of int8 matrices (FEAT_I8MM: Armv8.6, and some CPUs from Armv8.2 on): smmla, which adds to
// two pixels by two outputs the products of eight taps. Weights lie as sdot wants them, four outputs by four taps; two
// such vectors make two of two outputs by eight taps.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "train_kernels/int8/arm_vectors.h"
#include "train_kernels/int8/vector_kernels.h"

#if defined(__aarch64__)

namespace coterie::kernels::int8 {
namespace {

namespace neon_i8mm {
#define COT_TARGET __attribute__((target("arch=armv8.2-a+dotprod+i8mm")))
constexpr size_t kLaneElements = 4, kPairs = 4, kTileColumns = 3;
COT_TARGET inline Ints dot(Ints sums, Ints lanes, Ints weights) {
  return vdotq_s32(sums, vreinterpretq_s8_s32(lanes), vreinterpretq_s8_s32(weights));
}
inline Ints push(Ints lanes, Ints element) {
  return vorrq_s32(vshlq_n_s32(lanes, 8), vandq_s32(element, vdupq_n_s32(0xff)));
}
inline void store_elements(uint8_t* to, Bytes v, int move) {
  vst1q_s8(reinterpret_cast<int8_t*>(to), vaddq_s8(v, vdupq_n_s8(static_cast<int8_t>(move))));
}

// In this order.
#include "train_kernels/int8/vector_moves_inl.h"

#include "train_kernels/int8/vector_kernels_inl.h"

#include "train_kernels/int8/vector_columns_inl.h"

// Two outputs of each of two pixels.
struct PairSums {
  Ints first, second;
};

// Adds the products of eight taps of each pixel; of four, where the other four are 0.
template <size_t kRows, size_t kColumns>
COT_TARGET inline void add_products(const int8x16_t (&pixels)[kRows], const Ints (&low)[kColumns],
                                    const Ints (&high)[kColumns], PairSums (&sums)[kRows][kColumns]) {
  COT_UNROLL
  for (size_t c = 0; c < kColumns; ++c) {
    const int8x16_t first = vreinterpretq_s8_s32(vzip1q_s32(low[c], high[c])),
                    second = vreinterpretq_s8_s32(vzip2q_s32(low[c], high[c]));
    COT_UNROLL
    for (size_t p = 0; p < kRows; ++p) {
      sums[p][c].first = vmmlaq_s32(sums[p][c].first, pixels[p], first);
      sums[p][c].second = vmmlaq_s32(sums[p][c].second, pixels[p], second);
    }
  }
}

// `kRows` pairs of pixels; of the last one the second pixel is there if `is_even`, else it is the first once more.
template <size_t kRows, size_t kColumns>
COT_TARGET void paired_tile(const ConvolutionTask& task, size_t pixel, bool is_even, size_t output) {
  const size_t vector_bytes = kLanes * kLaneBytes, column_bytes = task.segment_count * task.segment_bytes * kLanes;
  PairSums sums[kRows][kColumns];
  const uint8_t* windows[kRows][2];
  COT_UNROLL
  for (size_t p = 0; p < kRows; ++p) {
    windows[p][0] = task.image + task.pixels[pixel + 2 * p];
    windows[p][1] = p + 1 < kRows || is_even ? task.image + task.pixels[pixel + 2 * p + 1] : windows[p][0];
    COT_UNROLL
    for (size_t c = 0; c < kColumns; ++c) {
      const Ints bias = load_ints(task.bias + output + c * kLanes);
      sums[p][c] = {vcombine_s32(vget_low_s32(bias), vget_low_s32(bias)),
                    vcombine_s32(vget_high_s32(bias), vget_high_s32(bias))};
    }
  }
  const uint8_t* weights = task.weights + output / kLanes * column_bytes;
  for (size_t s = 0; s < task.segment_count; ++s) {
    const size_t begin = task.segments[s];
    size_t b = 0;
    for (; b + 2 * kLaneBytes <= task.segment_bytes; b += 2 * kLaneBytes, weights += 2 * vector_bytes) {
      int8x16_t pixels[kRows];
      Ints low[kColumns], high[kColumns];
      COT_UNROLL
      for (size_t p = 0; p < kRows; ++p) {
        pixels[p] =
            vreinterpretq_s8_u8(vcombine_u8(vld1_u8(windows[p][0] + begin + b), vld1_u8(windows[p][1] + begin + b)));
      }
      COT_UNROLL
      for (size_t c = 0; c < kColumns; ++c) {
        low[c] = load_ints(weights + c * column_bytes);
        high[c] = load_ints(weights + c * column_bytes + vector_bytes);
      }
      add_products(pixels, low, high, sums);
    }
    if (b == task.segment_bytes) continue;
    int8x16_t pixels[kRows];
    Ints low[kColumns], high[kColumns];
    COT_UNROLL
    for (size_t p = 0; p < kRows; ++p) {
      const Ints lanes = {lane_at(windows[p][0] + begin + b), 0, lane_at(windows[p][1] + begin + b), 0};
      pixels[p] = vreinterpretq_s8_s32(lanes);
    }
    COT_UNROLL
    for (size_t c = 0; c < kColumns; ++c) {
      low[c] = load_ints(weights + c * column_bytes);
      high[c] = splat_ints(0);
    }
    add_products(pixels, low, high, sums);
    weights += vector_bytes;
  }
  const Bounds bounds = bounds_of(task.to);
  COT_UNROLL
  for (size_t c = 0; c < kColumns; ++c) {
    const size_t first = output + c * kLanes, left = std::min(kLanes, task.outputs - first);
    const Floats multipliers = load_floats(task.multipliers + first);
    COT_UNROLL
    for (size_t p = 0; p < kRows; ++p) {
      const Ints above = vcombine_s32(vget_low_s32(sums[p][c].first), vget_low_s32(sums[p][c].second)),
                 below = vcombine_s32(vget_high_s32(sums[p][c].first), vget_high_s32(sums[p][c].second));
      int8_t* const y = task.y + (pixel + 2 * p) * task.y_stride + first;
      store_rounded(multiply(to_floats(above), multipliers), bounds, y, left);
      if (p + 1 == kRows && !is_even) continue;
      store_rounded(multiply(to_floats(below), multipliers), bounds, y + task.y_stride, left);
    }
  }
}

using Tile = void (*)(const ConvolutionTask&, size_t, bool, size_t);
template <size_t... kIndex>
constexpr std::array<Tile, sizeof...(kIndex)> tiles(std::index_sequence<kIndex...>) {
  return {paired_tile<kIndex / kTileColumns + 1, kIndex % kTileColumns + 1>...};
}
constexpr auto kTiles = tiles(std::make_index_sequence<kPairs * kTileColumns>());

void convolve(const ConvolutionTask& task) {
  const size_t vectors = (task.outputs + kLanes - 1) / kLanes;
  for (size_t v = 0; v < vectors; v += kTileColumns) {
    const size_t columns = std::min(kTileColumns, vectors - v);
    for (size_t p = 0; p < task.pixel_count; p += 2 * kPairs) {
      const size_t rows = std::min(2 * kPairs, task.pixel_count - p), pairs = (rows + 1) / 2;
      kTiles[(pairs - 1) * kTileColumns + columns - 1](task, p, rows % 2 == 0, v * kLanes);
    }
  }
}
#undef COT_TARGET
}  // namespace neon_i8mm

}  // namespace

const VectorKernels kNeonI8mmKernels{.lanes = kLanes,
                                     .element_bytes = 1,
                                     .lanes_least = kLanes,
                                     .move = 0,
                                     .has_no_zero = false,
                                     .convolve = neon_i8mm::convolve,
                                     .depthwise = neon_i8mm::depthwise,
                                     .quantise = neon_i8mm::quantise,
                                     .dequantise = neon_i8mm::dequantise,
                                     .add = neon_i8mm::add,
                                     .move_elements = neon_i8mm::move_elements,
                                     .max_windows = neon_i8mm::max_windows,
                                     .mean_pixels = neon_i8mm::mean_pixels};

}  // namespace coterie::kernels::int8
#endif
