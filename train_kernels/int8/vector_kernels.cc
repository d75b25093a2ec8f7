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
    case Adder::neon_dot: return cpu_has_dot_product() ? &kNeonDotKernels : nullptr;
    case Adder::neon_i8mm: return cpu_has_dot_product() && cpu_has_i8mm() ? &kNeonI8mmKernels : nullptr;
#endif
    default: return nullptr;
  }
}

}  // namespace coterie::kernels::int8
