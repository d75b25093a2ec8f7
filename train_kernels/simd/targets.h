// How one source becomes one kernel table entry for each instruction set.
//
// A file in simd/ is compiled by google/highway's foreach_target once for each target, each time into its own
// namespace (HWY_NAMESPACE), so that no inline function of one instruction set is ever linked into another's
// code. Highway's headers are all we use of it: which table runs is decided by kernel_table.cc, and nothing
// of libhwy is linked.
//
// Targets: AVX-512 (F, BW, DQ, VL), AVX2 with FMA, SSE4.2 and portable code on x86; NEON on arm64.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

// X(family, struct of tables/<family>.h) for each.
#define COT_KERNEL_FAMILIES(X)                \
  X(dense, DenseKernels)                      \
  X(conv2d, Conv2dKernels)                    \
  X(conv_transpose2d, ConvTranspose2dKernels) \
  X(matmul, MatmulKernels)                    \
  X(pool, PoolKernels)                        \
  X(elementwise, ElementwiseKernels)          \
  X(loss, LossKernels)                        \
  X(elementwise_loss, ElementwiseLossKernels) \
  X(embedding_loss, EmbeddingLossKernels)     \
  X(optimizer, OptimizerKernels)              \
  X(softmax, SoftmaxKernels)                  \
  X(reduce, ReduceKernels)                    \
  X(logic, LogicKernels)                      \
  X(binary, BinaryKernels)                    \
  X(layer_norm, LayerNormKernels)             \
  X(group_norm, GroupNormKernels)             \
  X(batch_norm, BatchNormKernels)             \
  X(activation, ActivationKernels)            \
  X(rnn, RnnKernels)                          \
  X(attention, AttentionKernels)

namespace coterie::kernels {

// Names alone: a new kernel rebuilds its own family.
#define COT_DECLARE_FAMILY(family, Kernels) \
  template <typename T>                     \
  struct Kernels;
COT_KERNEL_FAMILIES(COT_DECLARE_FAMILY)
#undef COT_DECLARE_FAMILY

namespace simd {

// Which kernels this build has: all, or with -DCOTERIE_OPS_FROM those that its ops, losses and optimizers call,
// and of the functions that one kernel has many of those alone.
#ifdef COTERIE_KERNELS  // "relu_forward", "Unary::relu6", ...
consteval bool is_in_build(std::string_view name) {
  for (const std::string_view one : {COTERIE_KERNELS}) {
    if (one == name) return true;
  }
  return false;
}
#else
consteval bool is_in_build(std::string_view) { return true; }
#endif

// Each fills its family's members of the table for a HWY_* target; the target is one of this build's.
#define COT_DECLARE_FILL(family, Kernels) void fill_##family(int64_t target, Kernels<float>& table);
COT_KERNEL_FAMILIES(COT_DECLARE_FILL)
#undef COT_DECLARE_FILL

}  // namespace simd
}  // namespace coterie::kernels

// COT_SET(member, function), in a fill_<family>_target: what this build leaves out stays null, and nothing is linked
// for it.
#define COT_SET(member, function) table.member = is_in_build(#member) ? function : nullptr

// COT_DEFINE_FILL(family, struct), inside `#if HWY_ONCE`: defines fill_<family>, which calls the target's
// fill_<family>_target.
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
#define COT_DEFINE_FILL(family, Kernels)                                                            \
  void fill_##family([[maybe_unused]] int64_t target, Kernels<float>& table) {                      \
    COT_FILL_AVX3(family)                                                                           \
    COT_FILL_AVX2(family) COT_FILL_SSE4(family) HWY_STATIC_DISPATCH(fill_##family##_target)(table); \
  }
#endif
