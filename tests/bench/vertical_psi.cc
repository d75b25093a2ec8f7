#include <sodium.h>

#include <algorithm>
#include <string>
#include <vector>

#include "secure/crypto/ristretto_kernel.h"
#include "tests/bench/madd52_peak.h"
#include "tests/bench/vertical_bench.h"
#include "vertical/psi/matching.h"

namespace coterie::bench {
namespace {

constexpr uint32_t kItems = 50'000;
constexpr int kTurns = 3;
// What the kernel (secure/crypto/ristretto_ifma.cc) does for an id: a hash to the group, two products, a decoding and
// two encodings are 3,295 squares of 30 multiply-adds and 2,830 products of 50, in one of eight lanes.
constexpr double kMaddsOfId = 3'295 * 30 + 2'830 * 50;

// libsodium called as directly as it can be: SHA-512, the hash to the group, both parties' multiplications. Items a
// second.
double libsodium_rate() {
  constexpr int kCalls = 4'000;
  std::array<std::array<uint8_t, crypto_core_ristretto255_SCALARBYTES>, 2> keys{};
  for (auto& key : keys) crypto_core_ristretto255_scalar_random(key.data());
  const double begin = thread_cpu_seconds();
  for (int i = 0; i < kCalls; ++i) {
    std::array<uint8_t, 64> message{}, hash{};
    std::copy_n(reinterpret_cast<const uint8_t*>(&i), sizeof(i), message.begin());
    crypto_hash_sha512(hash.data(), message.data(), message.size());
    std::array<uint8_t, crypto_core_ristretto255_BYTES> element{}, masked{}, doubled{};
    crypto_core_ristretto255_from_hash(element.data(), hash.data());
    if (crypto_scalarmult_ristretto255(masked.data(), keys[0].data(), element.data()) != 0 ||
        crypto_scalarmult_ristretto255(doubled.data(), keys[1].data(), masked.data()) != 0) {
      std::abort();
    }
  }
  return kCalls / (thread_cpu_seconds() - begin);
}

std::vector<std::string> ids_from(uint32_t first) {
  std::vector<std::string> ids;
  for (uint32_t i = 0; i < kItems; ++i) ids.push_back("customer-" + std::to_string(10'000'000 + first + i));
  return ids;
}

std::array<PartyWork, 2> match() {
  vertical::PsiSettings settings;
  settings.salt.fill(7);
  std::array<PartyWork, 2> work;
  const auto started = [&](size_t party, auto start, uint32_t first) {
    std::vector<std::string> ids = ids_from(first);
    const double begin = thread_cpu_seconds();
    auto set = value_of(vertical::IdSet::make(std::move(ids), vertical::Duplicates::refuse));
    auto stage =
        value_of(start(std::move(set), settings, static_cast<vertical::PartyIndex>(1 - party), seed_of(party), {}));
    work[party].cpu_s = thread_cpu_seconds() - begin;
    return stage;
  };
  const auto label = started(0, vertical::start_label_matching, 0);
  const auto feature = started(1, vertical::start_feature_matching, kItems / 2);
  run_pair({label.get(), feature.get()}, work);
  if (label->matched_rows().size() != kItems / 2) std::abort();
  return work;
}

void measure_psi_with(const RistrettoKernel& kernel) {
  force_ristretto_kernel(&kernel);
  struct Turn {
    double rate, limit;
    std::array<PartyWork, 2> work;
  };
  std::vector<Turn> turns;
  for (int i = 0; i < kTurns; ++i) {
    // The limit on both sides of what it is compared with: a machine that others share changes its pace.
    const double before = libsodium_rate();
    const auto work = match();
    const double after = libsodium_rate();
    turns.push_back({2 * kItems / (work[0].cpu_s + work[1].cpu_s), 2 / (1 / before + 1 / after), work});
  }
  std::ranges::sort(turns, {}, [](const Turn& turn) { return turn.rate / turn.limit; });
  const auto& [rate, limit, work] = turns[kTurns / 2];
  std::printf(
      "{\"bench\":\"psi\",\"kernel\":\"%s\",\"items\":%u,\"items_per_s\":%.0f,\"libsodium_per_s\":%.0f,\"share\":%.3f,"
      "\"share_min\":%.3f,"
      "\"share_max\":%.3f,\"label_s\":%.2f,\"feature_s\":%.2f,\"bytes_per_pair\":%.2f,\"madds_per_s\":%.0f}\n",
      std::string(kernel.name).c_str(), kItems, rate, limit, rate / limit, turns.front().rate / turns.front().limit,
      turns.back().rate / turns.back().limit, work[0].cpu_s, work[1].cpu_s,
      (work[0].sent_bytes + work[1].sent_bytes) / kItems, madd52_peak() / kMaddsOfId);
  std::fflush(stdout);
  force_ristretto_kernel(nullptr);
}

}  // namespace

void measure_psi() {
  if (sodium_init() < 0) std::abort();
  for (const RistrettoKernel& kernel : {ristretto_kernels().back(), ristretto_kernels().front()}) {
    measure_psi_with(kernel);
    if (ristretto_kernels().size() == 1) break;
  }
}

}  // namespace coterie::bench
