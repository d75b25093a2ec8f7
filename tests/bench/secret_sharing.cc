// coterie-bench-secret-sharing: Shamir's sharing of 32 bytes on one thread, by processor time.
//
// A row a cohort: share_us is the arithmetic of all shares of one secret, split_us with its random coefficients and
// locked memory, weights_us what new survivors cost, reconstruct_us one secret of known ones, correct_us the same with
// as many bad shares as can be.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "secure/crypto/random.h"
#include "secure/secret_sharing/gf256_rows.h"
#include "secure/secret_sharing/reconstruction.h"
#include "tests/bench/thread_time.h"

namespace {

using namespace coterie;

constexpr int kRuns = 21;
constexpr double kSecondsOfRun = 0.004;

// Microseconds of one call, median.
template <typename Work>
double microseconds(Work work) {
  work();
  const double begin = bench::thread_cpu_seconds();
  work();
  const int calls = std::max(1, static_cast<int>(kSecondsOfRun / std::max(1e-8, bench::thread_cpu_seconds() - begin)));
  std::vector<double> times;
  for (int run = 0; run < kRuns; ++run) {
    const double before = bench::thread_cpu_seconds();
    for (int i = 0; i < calls; ++i) work();
    times.push_back((bench::thread_cpu_seconds() - before) / calls * 1e6);
  }
  std::ranges::sort(times);
  return times[kRuns / 2];
}

double share_us(const gf256::RowKernels& kernels, size_t count, size_t threshold) {
  const Bytes coefficients = random_bytes(threshold * kShareBytes);
  Bytes values(count * kShareBytes);
  return microseconds([&] { kernels.evaluate(coefficients, values); });
}

void measure(size_t count, size_t threshold) {
  const Secret<32> secret;
  const Shares shares = *split(secret, threshold, count);
  std::vector<uint8_t> xs;
  std::vector<Share> all;
  for (size_t i = 0; i < count; ++i) {
    all.push_back(shares[i]);
    xs.push_back(all.back().x);
  }
  const Survivors survivors = *Survivors::make(threshold, xs);
  const Bytes noise = random_bytes(survivors.bad_shares_max() * kShareBytes);
  std::vector<Share> damaged = all;
  for (size_t i = 0; i < survivors.bad_shares_max(); ++i) {
    damaged[2 * i].value = ByteView(noise).subspan(i * kShareBytes, kShareBytes);
  }
  bool ok = survivors.correct(damaged).has_value();
  std::printf(
      "{\"bench\":\"secret_sharing\",\"count\":%zu,\"threshold\":%zu,\"kernels\":\"%s\",\"share_us\":%.2f,"
      "\"share_portable_us\":%.1f,\"split_us\":%.2f,\"weights_us\":%.2f,\"reconstruct_us\":%.3f,"
      "\"correct_us\":%.0f,\"ok\":%s}\n",
      count, threshold, gf256::row_kernels().name, share_us(gf256::row_kernels(), count, threshold),
      share_us(gf256::portable_row_kernels(), count, threshold),
      microseconds([&] { ok &= split(secret, threshold, count).has_value(); }),
      microseconds([&] { ok &= Survivors::make(threshold, xs).has_value(); }),
      microseconds([&] { ok &= survivors.reconstruct(all).has_value(); }),
      microseconds([&] { ok &= survivors.correct(damaged).has_value(); }), ok ? "true" : "false");
}

}  // namespace

int main() {
  measure(100, 67);
  measure(255, 170);
}
