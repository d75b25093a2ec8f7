// Which vector instructions this CPU has: asked once, for the few kernels that come in several versions.
#pragma once

#include <cstdint>

namespace coterie {

enum class SimdLevel : uint8_t { baseline, avx2, avx512 };  // avx2 implies FMA; avx512 implies F, BW, DQ, VL

inline SimdLevel cpu_simd_level() {
#if defined(__x86_64__)
  static const SimdLevel level = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      return SimdLevel::avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return SimdLevel::avx2;
    return SimdLevel::baseline;
  }();
  return level;
#else
  return SimdLevel::baseline;
#endif
}

// Multiplication in GF(2^8) modulo 0x11B, on 32 bytes at a time.
inline bool cpu_has_gfni() {
#if defined(__x86_64__)
  static const bool has = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("gfni");
  }();
  return has;
#else
  return false;
#endif
}

}  // namespace coterie

// Function attributes of the versions. A version's body is an always_inline template that the compiler vectorises for
// the caller's target; no intrinsics, no ODR violation (each version is its own function).
#if defined(__x86_64__)
#define COT_TARGET_AVX2 [[gnu::target("avx2,fma")]]
#define COT_TARGET_GFNI [[gnu::target("avx2,gfni")]]
#define COT_TARGET_AVX512 [[gnu::target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]]
#define COT_HAS_X86_TARGETS 1
#else
#define COT_HAS_X86_TARGETS 0
#endif
