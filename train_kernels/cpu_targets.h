// Which of the compiled instruction sets this CPU, and its operating system, can run.
#pragma once

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace coterie::kernels {

// Exactly the features that highway's targets are compiled with (CMakeLists.txt turns AES, PCLMUL and F16C off).
#if defined(__x86_64__) || defined(__i386__)
#ifdef __SSE4_2__  // what the compiler takes for granted need not be asked: a client with these alone asks nothing
inline bool cpu_has_sse4() { return true; }
#else
inline bool cpu_has_sse4() { return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2"); }
#endif
inline bool cpu_has_avx2() {
  return cpu_has_sse4() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
inline bool cpu_has_avx512() {
  return cpu_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
inline bool cpu_has_bfloat16_products() { return cpu_has_avx512() && __builtin_cpu_supports("avx512bf16"); }
#endif

#if defined(__aarch64__)
#if defined(__linux__)
// Bits of the kernel's interface (arch/arm64/include/uapi/asm/hwcap.h), by number: older headers have no name for them.
inline bool cpu_has_dot_product() { return (getauxval(AT_HWCAP) & (1ul << 20)) != 0; }
inline bool cpu_has_i8mm() { return (getauxval(AT_HWCAP2) & (1ul << 13)) != 0; }
inline bool cpu_has_bfloat16_products() { return (getauxval(AT_HWCAP2) & (1ul << 14)) != 0; }
#elif defined(__APPLE__)
inline bool apple_says(const char* feature) {
  int value = 0;
  size_t bytes = sizeof value;
  return ::sysctlbyname(feature, &value, &bytes, nullptr, 0) == 0 && value != 0;
}
inline bool cpu_has_dot_product() { return apple_says("hw.optional.arm.FEAT_DotProd"); }
inline bool cpu_has_i8mm() { return apple_says("hw.optional.arm.FEAT_I8MM"); }
inline bool cpu_has_bfloat16_products() { return apple_says("hw.optional.arm.FEAT_BF16"); }
#else
inline bool cpu_has_dot_product() { return false; }
inline bool cpu_has_i8mm() { return false; }
inline bool cpu_has_bfloat16_products() { return false; }
#endif
#endif

}  // namespace coterie::kernels
