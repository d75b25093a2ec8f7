// The kernels of a training that asks for mixed precision: products of operands rounded to bfloat16, summed in float32,
// where the CPU has an instruction for them: vdpbf16ps of AVX512_BF16, or bfmmla of 64-bit ARM (FEAT_BF16).
//
// They have the contracts of kernel_table.h, workspaces and the sizes of prepared weights too; the table that prepared
// weights is the one that reads them. The products of dense layers, convolutions (but for F(4x4)) and recurrent layers
// are those of simd/gemm_bfloat16_inl.h; what is no product - biases and their gradients, gates, transforms - and all
// other kernels are those of kernels().
#pragma once

#include "train_kernels/kernel_table.h"

namespace coterie::kernels {

// Null where this CPU, or this build, has none: such a training then computes in float32, which is faster there than
// rounding would be. The same on every call; named "avx512_bf16" or "neon_bf16".
const KernelTable* bfloat16_kernels();

// Tests that hold one against the other set it: then there are none. Not for use beside other threads.
inline constinit bool bfloat16_kernels_are_off = false;

}  // namespace coterie::kernels
