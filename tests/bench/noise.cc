// coterie-bench-noise: nanoseconds of CPU time a coordinate, one thread: noise by the key stream, beside the key stream
// alone; noise on other instruction sets; a whole update encoded and a sum decoded.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/random.h"
#include "secure/dp/encode/encoding_plan.h"
#include "secure/dp/encode/sum_decoder.h"
#include "secure/dp/encode/update_encoder.h"
#include "secure/dp/noise/key_stream_source.h"
#include "secure/dp/noise/noise_sampler.h"
#include "tests/bench/thread_time.h"

namespace {

using namespace coterie;

constexpr size_t kCoordinates = 1 << 18;
constexpr int kRuns = 9;

// The time of the fastest run: others on this machine only ever add.
template <typename Work>
double ns_each(size_t count, Work work) {
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const double begin = bench::thread_cpu_seconds();
    work();
    const double seconds = bench::thread_cpu_seconds() - begin;
    if (run == 0 || seconds < best) best = seconds;
  }
  return best * 1e9 / static_cast<double>(count);
}

KeyStreamSource key_stream(uint8_t name) {
  Secret<32> key;
  key.mutable_bytes()[0] = name;
  return KeyStreamSource(*KeyStream::make(CipherSuite::aes256_ctr, key));
}

// The key stream in pieces as the sampler takes them.
double stream_ns(const ByteSource& source, uint64_t bytes_per_draw) {
  std::vector<uint8_t> piece(512 * bytes_per_draw);
  return ns_each(kCoordinates, [&] {
    for (size_t i = 0; i < kCoordinates; i += 512) source.write(i * bytes_per_draw, piece);
  });
}

void measure_sampler(NoiseKind kind, const char* name, double sigma, NoiseWord word) {
  const KeyStreamSource source = key_stream(1);
  const NoiseSampler sampler = *NoiseSampler::make(kind, sigma * sigma, word);
  std::vector<uint32_t> lanes(kCoordinates);
  std::vector<int32_t> noise(kCoordinates);
  const double table_ms = ns_each(1, [&] { static_cast<void>(NoiseSampler::make(kind, sigma * sigma, word)); }) / 1e6;
  std::printf(R"({"bench":"noise","kind":"%s","sigma":%g,"word_bits":%d,"ns":%.2f,"stream_ns":%.2f,"table_ms":%.2f)",
              name, sigma, word == NoiseWord::bits64 ? 64 : 128,
              ns_each(kCoordinates, [&] { sampler.add_to(source, 0, lanes); }),
              stream_ns(source, sampler.bytes_per_draw()), table_ms);
  const std::span<int32_t> some = std::span(noise).first(kCoordinates / 8);
  for (const auto& [level, level_name] : {std::pair{SimdLevel::baseline, "baseline"}, {SimdLevel::avx2, "avx2"}}) {
    if (level > cpu_simd_level()) continue;
    std::printf(R"(,"%s_ns":%.2f)", level_name, ns_each(some.size(), [&] { sampler.draw(level, source, 0, some); }));
  }
  std::printf("}\n");
}

void measure_encoding() {
  const KeyStreamSource rounding = key_stream(2), signs = key_stream(3), noise = key_stream(4);
  const EncodingPlan plan = *choose_scale_and_bits(
      {.dimension = kCoordinates, .contributors_max = 1000, .honest_min = 700, .clip_norm = 1, .noise_multiplier = 1});
  const NoiseSampler sampler = *NoiseSampler::make(NoiseKind::skellam, plan.local_variance, NoiseWord::bits128);
  std::vector<float> update(kCoordinates), mean(kCoordinates);
  Prng prng(1);
  for (float& value : update) value = static_cast<float>(prng.normal()) * 0.001f;
  std::vector<uint32_t> lanes(encoded_lanes(plan.spec, update.size()));
  const EncodingInputs plain{.rounding = rounding, .rotation_signs = &signs};
  const EncodingInputs noised{.rounding = rounding, .rotation_signs = &signs, .sampler = &sampler, .noise = &noise};
  const auto encode = [&](const EncodingInputs& inputs) {
    return ns_each(kCoordinates, [&] { static_cast<void>(encode_update(update, 1, plan.spec, inputs, lanes)); });
  };
  const double plain_ns = encode(plain), noised_ns = encode(noised);
  const double decode_ns = ns_each(
      kCoordinates, [&] { static_cast<void>(decode_sum(std::span<const uint32_t>(lanes), plan.spec, &signs, mean)); });
  std::printf(R"({"bench":"encoding","ring_bits":%u,"encode_ns":%.2f,"encode_with_noise_ns":%.2f,"decode_ns":%.2f})"
              "\n",
              plan.spec.ring_bits, plain_ns, noised_ns, decode_ns);
}

}  // namespace

int main() {
  for (const double sigma : {8.0, 40.0}) {
    for (const NoiseWord word : {NoiseWord::bits64, NoiseWord::bits128}) {
      measure_sampler(NoiseKind::skellam, "Skellam", sigma, word);
      measure_sampler(NoiseKind::discrete_gaussian, "discrete Gaussian", sigma, word);
    }
  }
  measure_encoding();
}
