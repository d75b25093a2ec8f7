// 64-bit ARM, each such CPU: smull on pairs of int16.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "train_kernels/int8/arm_vectors.h"
#include "train_kernels/int8/vector_kernels.h"

#if defined(__aarch64__)

namespace coterie::kernels::int8 {
namespace {

namespace neon {
#define COT_TARGET
constexpr size_t kLaneElements = 2, kTileRows = 4, kTileColumns = 4, kTileSums = 16;
inline Ints dot(Ints sums, Ints lanes, Ints weights) {
  const int16x8_t x = vreinterpretq_s16_s32(lanes), w = vreinterpretq_s16_s32(weights);
  return vaddq_s32(sums, vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(w)), vmull_high_s16(x, w)));
}
inline Ints push(Ints lanes, Ints element) {
  return vorrq_s32(vshlq_n_s32(lanes, 16), vandq_s32(element, vdupq_n_s32(0xffff)));
}
inline void store_elements(uint8_t* to, Bytes v, int move) {
  const int16x8_t by = vdupq_n_s16(static_cast<int16_t>(move));
  vst1q_u8(to, vreinterpretq_u8_s16(vaddw_s8(by, vget_low_s8(v))));
  vst1q_u8(to + kBytes, vreinterpretq_u8_s16(vaddw_high_s8(by, v)));
}

// In this order.
#include "train_kernels/int8/vector_moves_inl.h"

#include "train_kernels/int8/vector_kernels_inl.h"

#include "train_kernels/int8/vector_columns_inl.h"

#include "train_kernels/int8/vector_tiles_inl.h"

#undef COT_TARGET
}  // namespace neon

}  // namespace

const VectorKernels kNeonKernels{.lanes = kLanes,
                                 .element_bytes = 2,
                                 .lanes_least = kLanes,
                                 .move = 0,
                                 .has_no_zero = true,
                                 .convolve = neon::convolve,
                                 .depthwise = neon::depthwise,
                                 .quantise = neon::quantise,
                                 .dequantise = neon::dequantise,
                                 .add = neon::add,
                                 .move_elements = neon::move_elements,
                                 .max_windows = neon::max_windows,
                                 .mean_pixels = neon::mean_pixels};

}  // namespace coterie::kernels::int8
#endif
