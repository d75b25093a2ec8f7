#include "train_kernels/kernel_table.h"

#include <array>

#include "hwy/detect_targets.h"
#include "train_kernels/cpu_targets.h"
#include "train_kernels/families_in_build.h"
#include "train_kernels/simd/targets.h"

namespace coterie::kernels {
namespace {

// The members of families that are left out stay null, and what is discarded here is not linked.
struct Tables {
  std::array<KernelTable, 4> tables{};
  size_t count = 0;

  void add(int64_t target, std::string_view name) {
    KernelTable& table = tables[count++];
    table.name = name;
#define COT_FILL(family, Kernels) \
  if constexpr (is_family_in_build(#family)) simd::fill_##family(target, table);
    COT_KERNEL_FAMILIES(COT_FILL)
#undef COT_FILL
  }
};

Tables make_tables() {
  Tables made;
#if HWY_TARGETS & HWY_AVX3
  if (cpu_has_avx512()) made.add(HWY_AVX3, "avx512");
#endif
#if HWY_TARGETS & HWY_AVX2
  if (cpu_has_avx2()) made.add(HWY_AVX2, "avx2");
#endif
#if HWY_TARGETS & HWY_SSE4
  if (cpu_has_sse4()) made.add(HWY_SSE4, "sse4");
#endif
#if HWY_STATIC_TARGET == HWY_EMU128 || HWY_STATIC_TARGET == HWY_SCALAR  // clang, GCC 12
  made.add(HWY_STATIC_TARGET, "portable");
#elif HWY_STATIC_TARGET == HWY_NEON
  made.add(HWY_STATIC_TARGET, "neon");
#endif
  return made;
}

const Tables& tables() {
  static const Tables made = make_tables();
  return made;
}

}  // namespace

const KernelTable& kernels() { return tables().tables[0]; }

std::span<const KernelTable> supported_kernels() { return std::span(tables().tables).first(tables().count); }

}  // namespace coterie::kernels
