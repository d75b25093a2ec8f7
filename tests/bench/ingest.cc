// coterie-bench-ingest: float32 updates into the exact sum, one core, beside memcpy of the same bytes in the same run.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "proto/ring/ring_vector.h"
#include "secure/crypto/digest.h"

namespace {

using namespace coterie;
using Clock = std::chrono::steady_clock;

constexpr int kRuns = 15;

// Bytes per second of the median run of `work`, which handles `bytes`.
template <typename Work>
double rate(double bytes, Work work) {
  const int inner = std::max(1, static_cast<int>(2e8 / bytes));
  std::vector<double> rates;
  for (int run = 0; run < kRuns; ++run) {
    const auto begin = Clock::now();
    for (int i = 0; i < inner; ++i) work(i);
    rates.push_back(bytes * inner / std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
}

void measure(double megabytes) {
  const auto count = static_cast<size_t>(megabytes * 1e6 / sizeof(float));
  const FixedPointSpec spec = FixedPointSpec::finest(64, 16384, 1024);
  constexpr int kUpdates = 4;  // taken in turn, as updates of different devices are
  std::vector<std::vector<float>> updates(kUpdates, std::vector<float>(count));
  Prng prng(1);
  for (auto& update : updates) {
    for (float& value : update) value = static_cast<float>(prng.normal()) * 0.01f;
  }
  std::vector<uint64_t> lanes(count);
  std::vector<float> copy(count);
  const double bytes = static_cast<double>(count * sizeof(float));
  const double memcpy_rate = rate(bytes, [&](int i) {
    std::memcpy(copy.data(), updates[static_cast<size_t>(i % kUpdates)].data(), count * sizeof(float));
    asm volatile("" : : "r"(copy.data()) : "memory");
  });
  bool ok = true;
  const double add_rate = rate(bytes, [&](int i) {
    ok &= add_update(updates[static_cast<size_t>(i % kUpdates)], 100, spec, lanes).has_value();
  });
  const double digest_rate = rate(bytes, [&](int i) {
    const auto& update = updates[static_cast<size_t>(i % kUpdates)];
    const Digest digest =
        content_digest(ByteView(reinterpret_cast<const uint8_t*>(update.data()), count * sizeof(float)));
    asm volatile("" : : "r"(digest.bytes.data()) : "memory");
  });
  std::printf(
      "{\"bench\":\"ingest\",\"update_mb\":%.0f,\"add_gb_per_s\":%.2f,\"memcpy_gb_per_s\":%.2f,\"ratio\":%.3f,"
      "\"digest_gb_per_s\":%.2f,\"ok\":%s}\n",
      megabytes, add_rate / 1e9, memcpy_rate / 1e9, add_rate / memcpy_rate, digest_rate / 1e9, ok ? "true" : "false");
}

}  // namespace

int main() {
  measure(1);
  measure(25);
}
