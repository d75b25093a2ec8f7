#include "train_kernels/bfloat16_kernels.h"

#include "hwy/detect_targets.h"
#include "train_kernels/cpu_targets.h"
#include "train_kernels/families_in_build.h"
#include "train_kernels/simd/bfloat16_targets.h"

namespace coterie::kernels {

#if COT_HAS_BFLOAT16
namespace {

KernelTable make_table() {
  KernelTable table = kernels();
#if defined(__aarch64__)
  table.name = "neon_bf16";
#else
  table.name = "avx512_bf16";
#endif
#define COT_FILL(family, Kernels) \
  if constexpr (is_family_in_build(#family)) simd::fill_##family##_bfloat16(table);
  COT_BFLOAT16_FAMILIES(COT_FILL)
#undef COT_FILL
  return table;
}

}  // namespace

const KernelTable* bfloat16_kernels() {
  static const bool has = cpu_has_bfloat16_products();
  if (!has || bfloat16_kernels_are_off) return nullptr;
  static const KernelTable table = make_table();
  return &table;
}
#else
const KernelTable* bfloat16_kernels() { return nullptr; }
#endif

}  // namespace coterie::kernels
