// AVX-512 VNNI: vpdpbusd.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "train_kernels/int8/vector_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace coterie::kernels::int8 {
namespace vnni {
namespace {

#define COT_TARGET __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

using Ints = __m512i;
using Floats = __m512;
using Bytes = __m128i;
struct Packed {
  __m512i zero, low;  // of int16; of int8
};
constexpr size_t kLanes = 16, kLaneElements = 4, kTileRows = 8, kTileColumns = 4, kTileSums = 24, kTogether = 4;

inline __mmask16 first(size_t n) { return static_cast<__mmask16>((1u << n) - 1); }
COT_TARGET inline Ints load_ints(const void* from) { return _mm512_loadu_si512(from); }
COT_TARGET inline void store_ints(void* to, Ints v) { _mm512_storeu_si512(to, v); }
COT_TARGET inline Floats load_floats(const float* from) { return _mm512_loadu_ps(from); }
COT_TARGET inline Floats first_floats(const float* from, size_t n) { return _mm512_maskz_loadu_ps(first(n), from); }
COT_TARGET inline void store_floats(float* to, Floats v, size_t n) { _mm512_mask_storeu_ps(to, first(n), v); }
COT_TARGET inline Ints first_bytes(const int8_t* from, size_t n) {
  if (n == kLanes) return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(first(n), from));
}
COT_TARGET inline Ints splat_ints(int32_t v) { return _mm512_set1_epi32(v); }
COT_TARGET inline Floats splat_floats(float v) { return _mm512_set1_ps(v); }
COT_TARGET inline Ints add_ints(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
COT_TARGET inline Floats to_floats(Ints v) {
  return _mm512_cvt_roundepi32_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
COT_TARGET inline Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
COT_TARGET inline Floats add_floats(Floats a, Floats b) { return _mm512_add_ps(a, b); }
COT_TARGET inline Floats divide(Floats a, Floats b) { return _mm512_div_ps(a, b); }
COT_TARGET inline Ints dot(Ints sums, Ints lanes, Ints weights) { return _mm512_dpbusd_epi32(sums, lanes, weights); }
COT_TARGET inline Bytes load_bytes(const int8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
COT_TARGET inline void store_bytes(int8_t* to, Bytes v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), v); }
COT_TARGET inline Bytes max_bytes(Bytes a, Bytes b) { return _mm_max_epi8(a, b); }
constexpr size_t kMoved = 64;
COT_TARGET inline void move_first(size_t n, const int8_t* x, int move, uint8_t* to) {
  const __m512i by = _mm512_set1_epi8(static_cast<char>(move));
  if (n == kMoved) return store_ints(to, _mm512_add_epi8(load_ints(x), by));
  const __mmask64 first = (uint64_t{1} << n) - 1;
  _mm512_mask_storeu_epi8(to, first, _mm512_add_epi8(_mm512_maskz_loadu_epi8(first, x), by));
}
template <typename B>
COT_TARGET inline void store_rounded(Floats v, const B& bounds, int8_t* y, size_t n) {
  v = _mm512_min_ps(_mm512_max_ps(v, bounds.low), bounds.high);  // maxps: what is not a number is the second operand
  const Ints whole = _mm512_cvt_roundps_epi32(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  _mm512_mask_cvtepi32_storeu_epi8(y, first(n), _mm512_add_epi32(whole, bounds.zero));
}
COT_TARGET inline Packed packed_of(const Target& to) { return {_mm512_set1_epi16(to.zero), _mm512_set1_epi8(to.low)}; }
// What is below an int32, or not a number, becomes the smallest one, and that stays below all bounds.
template <typename B>
COT_TARGET inline Ints whole_of(Floats v, const B& bounds) {
  return _mm512_cvt_roundps_epi32(_mm512_min_ps(bounds.high, v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// Each 128 bits of it hold four int8 of each vector.
template <typename B>
COT_TARGET inline Ints packed_bytes(const Floats (&v)[kTogether], const B& bounds) {
  const Ints zero = bounds.packed.zero;
  const Ints first = _mm512_adds_epi16(_mm512_packs_epi32(whole_of(v[0], bounds), whole_of(v[1], bounds)), zero),
             last = _mm512_adds_epi16(_mm512_packs_epi32(whole_of(v[2], bounds), whole_of(v[3], bounds)), zero);
  return _mm512_max_epi8(_mm512_packs_epi16(first, last), bounds.packed.low);
}
template <typename B>
COT_TARGET inline void store_together(const Floats (&v)[kTogether], const B& bounds, int8_t* y, size_t stride) {
  const Ints bytes = _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
                                              packed_bytes(v, bounds));
  if (stride == kLanes) return _mm512_storeu_si512(y, bytes);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm512_castsi512_si128(bytes));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y + stride), _mm512_extracti32x4_epi32(bytes, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y + 2 * stride), _mm512_extracti32x4_epi32(bytes, 2));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y + 3 * stride), _mm512_extracti32x4_epi32(bytes, 3));
}

#include "train_kernels/int8/vector_kernels_inl.h"
#include "train_kernels/int8/vector_tiles_inl.h"
#include "train_kernels/int8/x86_vnni_depthwise_inl.h"
#include "train_kernels/int8/x86_vnni_halves_inl.h"
#undef COT_TARGET

}  // namespace
}  // namespace vnni

const VectorKernels kVnniKernels{.lanes = vnni::kLanes,
                                 .element_bytes = 1,
                                 .lanes_least = vnni::kHalfLanes,
                                 // vpdpbusd multiplies unsigned bytes of x by signed weights: x is moved up by 128, and
                                 // the bias takes it back.
                                 .move = 128,
                                 .has_no_zero = false,
                                 .convolve = vnni::convolve_by_halves,
                                 .depthwise_rows = vnni::depthwise_rows,
                                 .quantise = vnni::quantise,
                                 .dequantise = vnni::dequantise,
                                 .add = vnni::add,
                                 .move_elements = vnni::move_elements,
                                 .max_windows = vnni::max_windows,
                                 .mean_pixels = vnni::mean_pixels};

}  // namespace coterie::kernels::int8
#endif
