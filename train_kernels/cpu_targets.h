// Which of the compiled instruction sets this CPU, and its operating system, can run.
#pragma once

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
#endif

}  // namespace coterie::kernels
