#include "tests/bench/madd52_peak.h"

#include <cstdint>
#include <cstdlib>

#include "secure/crypto/cpu_ifma.h"
#include "tests/bench/thread_time.h"

#if COT_HAS_X86_TARGETS
#include <immintrin.h>
#endif

namespace coterie::bench {

#if COT_HAS_X86_TARGETS
namespace {

constexpr int kSums = 12;  // more than there are steps from a multiply-add to its result
constexpr int kTurns = 5'000'000;

COT_TARGET_IFMA double measured() {
  const __m512i a = _mm512_set1_epi64(0x123456789abcd), b = _mm512_set1_epi64(0xfedcba987654);
  __m512i sums[kSums];
  for (__m512i& sum : sums) sum = a;
  const double begin = thread_cpu_seconds();
  for (int turn = 0; turn < kTurns; ++turn) {
#pragma GCC unroll 12
    for (int i = 0; i < kSums; ++i) sums[i] = _mm512_madd52lo_epu64(sums[i], a, b);
  }
  const double seconds = thread_cpu_seconds() - begin;
  __m512i all = sums[0];
  for (const __m512i& sum : sums) all = _mm512_xor_si512(all, sum);
  if (_mm512_reduce_or_epi64(all) == 0x7fff) std::abort();  // so that it is computed
  return 8.0 * kSums * kTurns / seconds;
}

}  // namespace

double madd52_peak() { return cpu_has_ifma() ? measured() : 0; }
#else
double madd52_peak() { return 0; }
#endif

}  // namespace coterie::bench
