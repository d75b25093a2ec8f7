// coterie-bench-masks: masks onto u32 lanes on one thread, by this CPU's kernels and by libcrypto, in one run.
//
//   {"bench":"masks", ...}         expand and add, by the best kernel: beside the same kernel storing the stream
//   without
//                                  any addition (raw), and beside libcrypto into a buffer, then added (libcrypto)
//   {"bench":"mask_kernels", ...}  the rate of each kernel of each suite
//   {"bench":"unmask", ...}        the streams a server takes off the sum of n = 1000 devices, of which a tenth dropped
//                                  out behind masking: n (1 - d) own masks, n d k (1 - d) of pairs; keys expanded too
//
// Rates are bytes of stream a second of this thread's processor time, medians of turns that alternate.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/random.h"
#include "secure/mask/mask_sum.h"
#include "tests/bench/thread_time.h"

namespace {

using namespace coterie;

constexpr int kTurns = 11;

Secret<32> seed_of(uint64_t number) {
  Prng prng = Prng::derived(number, 32);
  Secret<32> seed;
  for (uint8_t& byte : seed.mutable_bytes()) byte = static_cast<uint8_t>(prng.next());
  return seed;
}

// Half of them added, half subtracted.
MaskSum sum_of(const MaskKernel& kernel, size_t masks) {
  MaskSum sum(kernel);
  for (size_t i = 0; i < masks; ++i) {
    if (!sum.add(seed_of(i), i % 2 == 0 ? MaskSign::plus : MaskSign::minus)) std::abort();
  }
  return sum;
}

// u32 lanes as a careful caller has them: on a cache line.
class Vector {
 public:
  explicit Vector(size_t lanes) : memory_(new(std::align_val_t{64}) uint32_t[lanes]()), lanes_(memory_.get(), lanes) {}
  std::span<uint32_t> lanes() { return lanes_; }

 private:
  struct Free {
    void operator()(uint32_t* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
  };
  std::unique_ptr<uint32_t[], Free> memory_;
  std::span<uint32_t> lanes_;
};

// What is left of expand-and-add without the addition: the same streams over the same tiles, stored.
class RawStreams {
 public:
  RawStreams(const MaskKernel& kernel, size_t masks) {
    for (size_t i = 0; i < masks; ++i) streams_.push_back(std::move(*kernel.open(seed_of(i))));
  }
  void store(std::span<uint32_t> lanes) const {
    const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(lanes.data()), lanes.size_bytes() / 16 * 16);
    for (size_t at = 0; at < bytes.size(); at += kMaskTileBytes) {
      const auto tile = bytes.subspan(at, std::min(kMaskTileBytes, bytes.size() - at));
      for (const auto& stream : streams_) stream->run(LaneOp::store, static_cast<uint32_t>(at / 16), tile);
    }
  }

 private:
  std::vector<std::unique_ptr<MaskStream>> streams_;
};

// Bytes per second of each work, which handles `bytes`: medians of turns in which all take part.
std::vector<double> rates(double bytes, const std::vector<std::function<void()>>& works) {
  const int calls = std::max(1, static_cast<int>(2e8 / bytes));
  std::vector<std::vector<double>> rates(works.size());
  for (int turn = 0; turn < kTurns; ++turn) {
    for (size_t i = 0; i < works.size(); ++i) {
      const double begin = bench::thread_cpu_seconds();
      for (int call = 0; call < calls; ++call) works[i]();
      rates[i].push_back(bytes * calls / (bench::thread_cpu_seconds() - begin));
    }
  }
  std::vector<double> medians;
  for (auto& of_one : rates) {
    std::ranges::nth_element(of_one, of_one.begin() + kTurns / 2);
    medians.push_back(of_one[kTurns / 2]);
  }
  return medians;
}

void measure_adding(size_t lanes, size_t masks) {
  const auto kernels = mask_kernels(CipherSuite::aes256_ctr);
  const MaskSum ours = sum_of(kernels.front(), masks), libcrypto = sum_of(kernels.back(), masks);
  const RawStreams raw(kernels.front(), masks);
  Vector vector(lanes);
  const auto rate = rates(static_cast<double>(lanes * sizeof(uint32_t) * masks),
                          {[&] { ours.apply(0, vector.lanes()); }, [&] { raw.store(vector.lanes()); },
                           [&] { libcrypto.apply(0, vector.lanes()); }});
  std::printf(
      "{\"bench\":\"masks\",\"lanes\":%zu,\"masks\":%zu,\"kernel\":\"%s\",\"gb_per_s\":%.2f,\"raw_gb_per_s\":%.2f,"
      "\"raw_share\":%.3f,\"libcrypto_gb_per_s\":%.2f,\"times_libcrypto\":%.2f}\n",
      lanes, masks, std::string(ours.kernel_name()).c_str(), rate[0] / 1e9, rate[1] / 1e9, rate[0] / rate[1],
      rate[2] / 1e9, rate[0] / rate[2]);
}

void measure_kernels() {
  constexpr size_t kLanes = 100'000, kMasks = 16;
  for (const CipherSuite suite : {CipherSuite::aes256_ctr, CipherSuite::chacha20}) {
    for (const MaskKernel& kernel : mask_kernels(suite)) {
      const MaskSum sum = sum_of(kernel, kMasks);
      const RawStreams raw(kernel, kMasks);
      Vector vector(kLanes);
      const auto rate = rates(kLanes * sizeof(uint32_t) * kMasks,
                              {[&] { sum.apply(0, vector.lanes()); }, [&] { raw.store(vector.lanes()); }});
      std::printf("{\"bench\":\"mask_kernels\",\"kernel\":\"%s\",\"gb_per_s\":%.2f,\"raw_gb_per_s\":%.2f}\n",
                  std::string(kernel.name).c_str(), rate[0] / 1e9, rate[1] / 1e9);
    }
  }
}

void measure_unmasking(const char* graph, size_t neighbours) {
  constexpr size_t kLanes = 100'000, kDevices = 1000, kDropped = 100, kAlive = kDevices - kDropped;
  const size_t masks = kAlive + kDropped * neighbours * kAlive / kDevices;
  const auto& kernel = mask_kernels(CipherSuite::aes256_ctr).front();
  const double bytes = static_cast<double>(masks * kLanes * sizeof(uint32_t));
  const RawStreams raw(kernel, 16);
  Vector vector(kLanes);
  const double raw_rate = rates(kLanes * sizeof(uint32_t) * 16, {[&] { raw.store(vector.lanes()); }})[0];
  std::vector<Secret<32>> seeds;
  for (size_t i = 0; i < masks; ++i) seeds.push_back(seed_of(i));
  const double begin = bench::thread_cpu_seconds();
  MaskSum sum(kernel);
  for (const Secret<32>& seed : seeds) {
    if (!sum.add(seed, MaskSign::minus)) std::abort();
  }
  const double expanded = bench::thread_cpu_seconds();
  sum.apply(0, vector.lanes());
  const double end = bench::thread_cpu_seconds();
  std::printf(
      "{\"bench\":\"unmask\",\"graph\":\"%s\",\"devices\":%zu,\"dropped\":%zu,\"lanes\":%zu,\"masks\":%zu,"
      "\"cpu_s\":%.3f,\"keys_s\":%.4f,\"raw_s\":%.3f}\n",
      graph, kDevices, kDropped, kLanes, masks, end - begin, expanded - begin, bytes / raw_rate);
}

}  // namespace

int main() {
  measure_adding(100'000, 32);
  measure_adding(10'000'000, 8);
  measure_kernels();
  measure_unmasking("k=88", 88);
  measure_unmasking("complete", 999);
}
