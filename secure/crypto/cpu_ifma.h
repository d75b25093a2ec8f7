// Multiply-adds of 52-bit integers in vectors of 512 bits (AVX-512 IFMA): whether this CPU has them, and the attribute
// of functions that use them.
#pragma once

#include "base/cpu.h"

namespace coterie {

inline bool cpu_has_ifma() {
#if COT_HAS_X86_TARGETS
  static const bool has = [] {
    __builtin_cpu_init();
    return cpu_simd_level() == SimdLevel::avx512 && __builtin_cpu_supports("avx512ifma");
  }();
  return has;
#else
  return false;
#endif
}

}  // namespace coterie

#if COT_HAS_X86_TARGETS
#define COT_TARGET_IFMA [[gnu::target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]]
#endif
