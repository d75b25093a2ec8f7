// AVX2: vpmaddwd. Never vpmaddubsw, which saturates in 16 bits.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "train_kernels/int8/vector_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace coterie::kernels::int8 {
namespace avx2 {
namespace {

#define COT_TARGET __attribute__((target("avx2,fma")))

using Ints = __m256i;
using Floats = __m256;
using Bytes = __m128i;
struct Packed {
  __m256i zero, low;  // of int16; of int8
};
constexpr size_t kLanes = 8, kLaneElements = 2, kTileRows = 4, kTileColumns = 2, kTileSums = 8, kTogether = 4;

COT_TARGET inline Ints load_ints(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
COT_TARGET inline void store_ints(void* to, Ints v) { _mm256_storeu_si256(static_cast<__m256i*>(to), v); }
COT_TARGET inline Floats load_floats(const float* from) { return _mm256_loadu_ps(from); }
COT_TARGET inline Floats first_floats(const float* from, size_t n) {
  if (n == kLanes) return _mm256_loadu_ps(from);
  float some[kLanes] = {};
  std::memcpy(some, from, n * sizeof *from);
  return _mm256_loadu_ps(some);
}
COT_TARGET inline void store_floats(float* to, Floats v, size_t n) {
  float all[kLanes];
  _mm256_storeu_ps(all, v);
  std::memcpy(to, all, n * sizeof *to);
}
COT_TARGET inline Ints first_bytes(const int8_t* from, size_t n) {
  if (n == kLanes) return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  int8_t some[kLanes] = {};
  std::memcpy(some, from, n);
  return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(some)));
}
COT_TARGET inline Ints splat_ints(int32_t v) { return _mm256_set1_epi32(v); }
COT_TARGET inline Floats splat_floats(float v) { return _mm256_set1_ps(v); }
COT_TARGET inline Ints add_ints(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
COT_TARGET inline Floats to_floats(Ints v) { return _mm256_cvtepi32_ps(v); }
COT_TARGET inline Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
COT_TARGET inline Floats add_floats(Floats a, Floats b) { return _mm256_add_ps(a, b); }
COT_TARGET inline Floats divide(Floats a, Floats b) { return _mm256_div_ps(a, b); }
COT_TARGET inline Ints dot(Ints sums, Ints lanes, Ints weights) {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(lanes, weights));
}
COT_TARGET inline Ints push(Ints lanes, Ints element) {
  return _mm256_or_si256(_mm256_slli_epi32(lanes, 16), _mm256_and_si256(element, _mm256_set1_epi32(0xffff)));
}
COT_TARGET inline Bytes load_bytes(const int8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
COT_TARGET inline void store_bytes(int8_t* to, Bytes v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), v); }
COT_TARGET inline Bytes max_bytes(Bytes a, Bytes b) { return _mm_max_epi8(a, b); }
COT_TARGET inline void store_elements(uint8_t* to, Bytes v, int move) {
  store_ints(to, _mm256_add_epi16(_mm256_cvtepi8_epi16(v), _mm256_set1_epi16(static_cast<int16_t>(move))));
}
template <typename B>
COT_TARGET inline void store_rounded(Floats v, const B& bounds, int8_t* y, size_t n) {
  v = _mm256_min_ps(_mm256_max_ps(v, bounds.low), bounds.high);  // maxps: what is not a number is the second operand
  v = _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const Ints whole = _mm256_add_epi32(_mm256_cvttps_epi32(v), bounds.zero);
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
  const __m128i bytes = _mm_packs_epi16(words, words);
  if (n == kLanes) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y), bytes);
    return;
  }
  int8_t all[2 * kLanes];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(all), bytes);
  std::memcpy(y, all, n);
}

COT_TARGET inline Packed packed_of(const Target& to) { return {_mm256_set1_epi16(to.zero), _mm256_set1_epi8(to.low)}; }
// What is below an int32, or not a number, becomes the smallest one, and that stays below all bounds.
template <typename B>
COT_TARGET inline Ints whole_of(Floats v, const B& bounds) {
  return _mm256_cvttps_epi32(
      _mm256_round_ps(_mm256_min_ps(bounds.high, v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline void store_half(int8_t* y, __m128i half) { _mm_storel_epi64(reinterpret_cast<__m128i*>(y), half); }
template <typename B>
COT_TARGET inline void store_together(const Floats (&v)[kTogether], const B& bounds, int8_t* y, size_t stride) {
  const Ints zero = bounds.packed.zero;
  const Ints first = _mm256_adds_epi16(_mm256_packs_epi32(whole_of(v[0], bounds), whole_of(v[1], bounds)), zero),
             last = _mm256_adds_epi16(_mm256_packs_epi32(whole_of(v[2], bounds), whole_of(v[3], bounds)), zero);
  // Each 128 bits of it hold four int8 of each vector.
  const Ints mixed = _mm256_max_epi8(_mm256_packs_epi16(first, last), bounds.packed.low);
  const Ints bytes = _mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  if (stride == kLanes) return store_ints(y, bytes);
  const __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
  store_half(y, low);
  store_half(y + stride, _mm_unpackhi_epi64(low, low));
  store_half(y + 2 * stride, high);
  store_half(y + 3 * stride, _mm_unpackhi_epi64(high, high));
}

// In this order.
#include "train_kernels/int8/vector_moves_inl.h"

#include "train_kernels/int8/vector_kernels_inl.h"

#include "train_kernels/int8/vector_columns_inl.h"

#include "train_kernels/int8/vector_tiles_inl.h"

#undef COT_TARGET

}  // namespace
}  // namespace avx2

const VectorKernels kAvx2Kernels{.lanes = avx2::kLanes,
                                 // Elements are widened to int16: vpmaddwd adds two products of int16 into an int32
                                 // without loss.
                                 .element_bytes = 2,
                                 .lanes_least = avx2::kLanes,
                                 .move = 0,
                                 .has_no_zero = true,
                                 .convolve = avx2::convolve,
                                 .depthwise = avx2::depthwise,
                                 .quantise = avx2::quantise,
                                 .dequantise = avx2::dequantise,
                                 .add = avx2::add,
                                 .move_elements = avx2::move_elements,
                                 .max_windows = avx2::max_windows,
                                 .mean_pixels = avx2::mean_pixels};

}  // namespace coterie::kernels::int8
#endif
