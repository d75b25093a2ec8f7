// The vectors of 64-bit ARM, for the kernels of each of its instruction sets (vector_kernels_inl.h says what they are).
#pragma once

#if defined(__aarch64__)
#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "train_kernels/int8/kernels.h"

namespace coterie::kernels::int8 {
namespace {

using Ints = int32x4_t;
using Floats = float32x4_t;
using Bytes = int8x16_t;
constexpr size_t kLanes = 4, kTogether = 1;
struct Packed {};

inline Ints load_ints(const void* from) { return vreinterpretq_s32_u8(vld1q_u8(static_cast<const uint8_t*>(from))); }
inline void store_ints(void* to, Ints v) { vst1q_u8(static_cast<uint8_t*>(to), vreinterpretq_u8_s32(v)); }
inline Floats load_floats(const float* from) { return vld1q_f32(from); }
inline Floats first_floats(const float* from, size_t n) {
  if (n == kLanes) return vld1q_f32(from);
  float some[kLanes] = {};
  std::memcpy(some, from, n * sizeof *from);
  return vld1q_f32(some);
}
inline void store_floats(float* to, Floats v, size_t n) {
  float all[kLanes];
  vst1q_f32(all, v);
  std::memcpy(to, all, n * sizeof *to);
}
inline Ints first_bytes(const int8_t* from, size_t n) {
  int8_t some[2 * kLanes] = {};
  std::memcpy(some, from, n);
  return vmovl_s16(vget_low_s16(vmovl_s8(vld1_s8(some))));
}
inline Ints splat_ints(int32_t v) { return vdupq_n_s32(v); }
inline Floats splat_floats(float v) { return vdupq_n_f32(v); }
inline Ints add_ints(Ints a, Ints b) { return vaddq_s32(a, b); }
inline Floats to_floats(Ints v) { return vcvtq_f32_s32(v); }
inline Floats multiply(Floats a, Floats b) { return vmulq_f32(a, b); }
inline Floats add_floats(Floats a, Floats b) { return vaddq_f32(a, b); }
inline Floats divide(Floats a, Floats b) { return vdivq_f32(a, b); }
inline Bytes load_bytes(const int8_t* from) { return vld1q_s8(from); }
inline void store_bytes(int8_t* to, Bytes v) { vst1q_s8(to, v); }
inline Bytes max_bytes(Bytes a, Bytes b) { return vmaxq_s8(a, b); }
template <typename B>
inline void store_rounded(Floats v, const B& bounds, int8_t* y, size_t n) {
  v = vminnmq_f32(vmaxnmq_f32(v, bounds.low), bounds.high);  // fmaxnm: what is not a number is the other operand
  const int16x4_t words = vmovn_s32(vaddq_s32(vcvtnq_s32_f32(v), bounds.zero));
  int8_t all[2 * kLanes];
  vst1_s8(all, vmovn_s16(vcombine_s16(words, words)));
  std::memcpy(y, all, n);
}
inline Packed packed_of(const Target&) { return {}; }
template <typename B>
inline void store_together(const Floats (&v)[kTogether], const B& bounds, int8_t* y, size_t) {
  store_rounded(v[0], bounds, y, kLanes);
}

}  // namespace
}  // namespace coterie::kernels::int8
#endif
