#include "base/os/fma_peak.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/os/thread_time.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace coterie::os {
namespace {

constexpr size_t kRounds = 10'000;
constexpr size_t kChains = 12;  // more than latency x ports on any core, fewer than its registers

// One multiply-add on each of twelve independent registers, repeated; `Step` is assembly so that no compiler
// merges the chains or drops them.
#define COT_TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

#if defined(__x86_64__)
#define COT_DECLARE(i) auto r##i = factor;
#define COT_FMA(i) __asm__ volatile("vfmadd231ps %1, %1, %0" : "+v"(r##i) : "v"(factor));
#define COT_MUL_ADD(i) __asm__ volatile("mulps %1, %0\n addps %1, %0" : "+x"(r##i) : "x"(factor));

__attribute__((target("avx512f"), noinline)) void run_avx512() {
  const __m512 factor = _mm512_set1_ps(0.5f);
  COT_TWELVE(COT_DECLARE)
  for (size_t i = 0; i < kRounds; ++i) {
    COT_TWELVE(COT_FMA)
  }
}
__attribute__((target("avx2,fma"), noinline)) void run_avx2() {
  const __m256 factor = _mm256_set1_ps(0.5f);
  COT_TWELVE(COT_DECLARE)
  for (size_t i = 0; i < kRounds; ++i) {
    COT_TWELVE(COT_FMA)
  }
}
__attribute__((noinline)) void run_portable() {
  const __m128 factor = _mm_set1_ps(0.5f);
  COT_TWELVE(COT_DECLARE)
  for (size_t i = 0; i < kRounds; ++i) {
    COT_TWELVE(COT_MUL_ADD)
  }
}
#elif defined(__aarch64__)
using Float4 __attribute__((vector_size(16))) = float;
#define COT_DECLARE(i) Float4 r##i = factor;
#define COT_FMA(i) __asm__ volatile("fmla %0.4s, %1.4s, %1.4s" : "+w"(r##i) : "w"(factor));

__attribute__((noinline)) void run_portable() {
  const Float4 factor = {0.5f, 0.5f, 0.5f, 0.5f};
  COT_TWELVE(COT_DECLARE)
  for (size_t i = 0; i < kRounds; ++i) {
    COT_TWELVE(COT_FMA)
  }
}
#endif

double rate(void (*run)(), size_t lanes) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double before = thread_cpu_seconds();
    run();
    best = std::min(best, thread_cpu_seconds() - before);
  }
  return 2.0 * static_cast<double>(lanes * kChains * kRounds) / best;
}

}  // namespace

double fma_peak([[maybe_unused]] std::string_view kernels) {
#if defined(__x86_64__)
  if (kernels == "avx512") return rate(run_avx512, 16);
  if (kernels == "avx2") return rate(run_avx2, 8);
#endif
  return rate(run_portable, 4);
}

}  // namespace coterie::os
