// 64-bit ARM with the dot product (FEAT_DotProd: Armv8.4, and many CPUs from Armv8.2 on): sdot.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "train_kernels/int8/arm_vectors.h"
#include "train_kernels/int8/vector_kernels.h"

#if defined(__aarch64__)

namespace coterie::kernels::int8 {
namespace {

namespace neon_dot {
#define COT_TARGET __attribute__((target("arch=armv8.2-a+dotprod")))
constexpr size_t kLaneElements = 4, kTileRows = 4, kTileColumns = 4, kTileSums = 16;
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

#include "train_kernels/int8/vector_tiles_inl.h"

#undef COT_TARGET
}  // namespace neon_dot

}  // namespace

const VectorKernels kNeonDotKernels{.lanes = kLanes,
                                    .element_bytes = 1,
                                    .lanes_least = kLanes,
                                    .move = 0,
                                    .has_no_zero = false,
                                    .convolve = neon_dot::convolve,
                                    .depthwise = neon_dot::depthwise,
                                    .quantise = neon_dot::quantise,
                                    .dequantise = neon_dot::dequantise,
                                    .add = neon_dot::add,
                                    .move_elements = neon_dot::move_elements,
                                    .max_windows = neon_dot::max_windows,
                                    .mean_pixels = neon_dot::mean_pixels};

}  // namespace coterie::kernels::int8
#endif
