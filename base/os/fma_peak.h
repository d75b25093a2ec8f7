// The most fp32 multiply-adds that one core can do: what the matrix kernels are measured against.
#pragma once

#include <string_view>

namespace coterie::os {

// Floating-point operations a second (a fused multiply-add is two) of independent multiply-adds on registers,
// with the vectors that the kernel table of that name uses ("avx512", "avx2", "sse4", "neon", ...). Takes
// about 0.2 ms of this thread's processor time; repeat it beside what it is compared with, because the clock of
// a busy machine changes.
double fma_peak(std::string_view kernels);

}  // namespace coterie::os
