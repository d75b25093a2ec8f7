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
constexpr size_t kLanes = 16, kLaneElements = 4, kTileRows = 6, kTileColumns = 4;

inline __mmask16 first(size_t n) { return static_cast<__mmask16>((1u << n) - 1); }
COT_TARGET inline Ints load_ints(const void* from) { return _mm512_loadu_si512(from); }
COT_TARGET inline void store_ints(void* to, Ints v) { _mm512_storeu_si512(to, v); }
COT_TARGET inline Floats load_floats(const float* from) { return _mm512_loadu_ps(from); }
COT_TARGET inline Floats first_floats(const float* from, size_t n) { return _mm512_maskz_loadu_ps(first(n), from); }
COT_TARGET inline void store_floats(float* to, Floats v, size_t n) { _mm512_mask_storeu_ps(to, first(n), v); }
COT_TARGET inline Ints first_bytes(const int8_t* from, size_t n) {
  return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(first(n), from));
}
COT_TARGET inline Ints splat_ints(int32_t v) { return _mm512_set1_epi32(v); }
COT_TARGET inline Floats splat_floats(float v) { return _mm512_set1_ps(v); }
COT_TARGET inline Ints add_ints(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
COT_TARGET inline Ints max_ints(Ints a, Ints b) { return _mm512_max_epi32(a, b); }
COT_TARGET inline Floats to_floats(Ints v) {
  return _mm512_cvt_roundepi32_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
COT_TARGET inline Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
COT_TARGET inline Floats add_floats(Floats a, Floats b) { return _mm512_add_ps(a, b); }
COT_TARGET inline Floats divide(Floats a, Floats b) { return _mm512_div_ps(a, b); }
COT_TARGET inline Ints dot(Ints sums, Ints lanes, Ints weights) { return _mm512_dpbusd_epi32(sums, lanes, weights); }
COT_TARGET inline Ints push(Ints lanes, Ints element) {
  return _mm512_or_si512(_mm512_slli_epi32(lanes, 8), _mm512_and_si512(element, _mm512_set1_epi32(0xff)));
}
template <typename B>
COT_TARGET inline void store_rounded(Floats v, const B& bounds, int8_t* y, size_t n) {
  v = _mm512_min_ps(_mm512_max_ps(v, bounds.low), bounds.high);  // maxps: what is not a number is the second operand
  const Ints whole = _mm512_cvt_roundps_epi32(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  _mm512_mask_cvtepi32_storeu_epi8(y, first(n), _mm512_add_epi32(whole, bounds.zero));
}

#include "train_kernels/int8/vector_kernels_inl.h"
#include "train_kernels/int8/vector_tiles_inl.h"
#undef COT_TARGET

}  // namespace
}  // namespace vnni

const VectorKernels kVnniKernels{.lanes = vnni::kLanes,
                                 .element_bytes = 1,
                                 // vpdpbusd multiplies unsigned bytes of x by signed weights: x is moved up by 128, and
                                 // the bias takes it back.
                                 .move = 128,
                                 .has_no_zero = false,
                                 .convolve = vnni::convolve,
                                 .fill_columns = vnni::fill_columns,
                                 .depthwise = vnni::depthwise,
                                 .quantise = vnni::quantise,
                                 .dequantise = vnni::dequantise,
                                 .add = vnni::add,
                                 .max_pixels = vnni::max_pixels,
                                 .mean_pixels = vnni::mean_pixels};

}  // namespace coterie::kernels::int8
#endif
