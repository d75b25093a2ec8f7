// How one source becomes one kernel table entry for each instruction set.
//
// A file in simd/ is compiled by google/highway's foreach_target once for each target, each time into its own namespace
// (HWY_NAMESPACE), so that no inline function of one instruction set is ever linked into another's code. Highway's
// headers are all we use of it: which table runs is decided by kernel_table.cc, and nothing of libhwy is linked.
//
// Targets: AVX-512 (F, BW, DQ, VL), AVX2 with FMA, SSE4.2 and portable code on x86; NEON on arm64.
#pragma once

#include "train_kernels/kernel_table.h"

namespace coterie::kernels::simd {

// Each fills its family's members of the table for a HWY_* target; the target is one of this build's.
void fill_dense(int64_t target, KernelTable& table);
void fill_conv2d(int64_t target, KernelTable& table);
void fill_conv_transpose2d(int64_t target, KernelTable& table);
void fill_matmul(int64_t target, KernelTable& table);
void fill_pool(int64_t target, KernelTable& table);
void fill_elementwise(int64_t target, KernelTable& table);
void fill_loss(int64_t target, KernelTable& table);
void fill_elementwise_loss(int64_t target, KernelTable& table);
void fill_embedding_loss(int64_t target, KernelTable& table);
void fill_optimizer(int64_t target, KernelTable& table);
void fill_softmax(int64_t target, KernelTable& table);
void fill_reduce(int64_t target, KernelTable& table);
void fill_logic(int64_t target, KernelTable& table);
void fill_binary(int64_t target, KernelTable& table);
void fill_layer_norm(int64_t target, KernelTable& table);
void fill_group_norm(int64_t target, KernelTable& table);
void fill_batch_norm(int64_t target, KernelTable& table);
void fill_activation(int64_t target, KernelTable& table);
void fill_rnn(int64_t target, KernelTable& table);
void fill_attention(int64_t target, KernelTable& table);

}  // namespace coterie::kernels::simd

// COT_DEFINE_FILL(family), inside `#if HWY_ONCE`: defines fill_<family>, which calls the target's fill_<family>_target.
#if defined(HWY_TARGETS)
#if HWY_TARGETS & HWY_AVX3
#define COT_FILL_AVX3(family) \
  if (target == HWY_AVX3) return N_AVX3::fill_##family##_target(table);
#else
#define COT_FILL_AVX3(family)
#endif
#if HWY_TARGETS & HWY_AVX2
#define COT_FILL_AVX2(family) \
  if (target == HWY_AVX2) return N_AVX2::fill_##family##_target(table);
#else
#define COT_FILL_AVX2(family)
#endif
#if HWY_TARGETS & HWY_SSE4
#define COT_FILL_SSE4(family) \
  if (target == HWY_SSE4) return N_SSE4::fill_##family##_target(table);
#else
#define COT_FILL_SSE4(family)
#endif
#define COT_DEFINE_FILL(family)                                                    \
  void fill_##family([[maybe_unused]] int64_t target, KernelTable& table) {        \
    COT_FILL_AVX3(family) COT_FILL_AVX2(family) COT_FILL_SSE4(family)              \
    HWY_STATIC_DISPATCH(fill_##family##_target)(table);                            \
  }
#endif
