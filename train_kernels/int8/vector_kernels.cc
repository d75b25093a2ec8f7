#include "train_kernels/int8/vector_kernels.h"

#include "train_kernels/cpu_targets.h"

namespace coterie::kernels::int8 {

const VectorKernels* vector_kernels(Adder adder) {
  switch (adder) {
#if defined(__x86_64__)
    case Adder::avx2: return cpu_has_avx2() ? &kAvx2Kernels : nullptr;
    case Adder::avx512_vnni: return cpu_has_avx512() && __builtin_cpu_supports("avx512vnni") ? &kVnniKernels : nullptr;
#elif defined(__aarch64__)
    case Adder::neon: return &kNeonKernels;
#if defined(__ARM_FEATURE_DOTPROD)
    case Adder::neon_dot: return &kNeonDotKernels;
#endif
#endif
    default: return nullptr;
  }
}

}  // namespace coterie::kernels::int8
