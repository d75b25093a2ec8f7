#include "secure/dp/noise/noise_sampler.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/checked.h"
#include "secure/crypto/secret.h"
#include "secure/dp/noise/noise_kernel.h"

namespace coterie {
namespace {

constexpr size_t kTile = 512;  // draws: words and noise stay in the first cache
static_assert(kTile % kNoiseGroup == 0);

struct Tile {
  alignas(64) uint8_t words[kTile * 16];
  alignas(64) int32_t noise[kTile];

  ~Tile() {
    wipe(words);
    wipe(std::span(reinterpret_cast<uint8_t*>(noise), sizeof noise));
  }
};

// use(index of the first, the noise of a tile) for each tile of `count` draws.
template <typename Use>
void for_each_tile(SimdLevel level, const NoiseTable& table, uint64_t bytes_per_draw, const ByteSource& source,
                   uint64_t first, size_t count, Use use) {
  Tile tile{};
  for (size_t begin = 0; begin < count; begin += kTile) {
    const size_t here = std::min(kTile, count - begin);
    // Draw i takes bytes [i * bytes_per_draw, ...) whatever was drawn before: a vector that is noised in pieces, or
    // again, gets the same noise.
    source.write((first + begin) * bytes_per_draw, std::span(tile.words, here * bytes_per_draw));
    draw_noise(level, table, tile.words, round_up(here, kNoiseGroup), tile.noise);
    use(begin, std::span<const int32_t>(tile.noise, here));
  }
}

template <typename Lane>
void add_noise(const NoiseSampler& sampler, const ByteSource& source, uint64_t first, std::span<Lane> lanes) {
  for_each_tile(cpu_simd_level(), sampler.table(), sampler.bytes_per_draw(), source, first, lanes.size(),
                [&](size_t begin, std::span<const int32_t> noise) {
                  for (size_t i = 0; i < noise.size(); ++i) {
                    // Sign-extended, then cut to the lane.
                    const auto wide = static_cast<uint64_t>(static_cast<int64_t>(noise[i]));
                    lanes[begin + i] = static_cast<Lane>(lanes[begin + i] + wide);
                  }
                });
}

}  // namespace

Result<NoiseSampler> NoiseSampler::make(NoiseKind kind, double variance, uint64_t draws) {
  return make(kind, variance, draws > kDrawsOf64BitsMax ? NoiseWord::bits128 : NoiseWord::bits64);
}

Result<NoiseSampler> NoiseSampler::make(NoiseKind kind, double variance, NoiseWord word) {
  if (!(variance >= kNoiseVarianceMin && variance <= kNoiseVarianceMax)) {  // false for NaN, too
    return Error(ErrorCode::invalid_argument, "noise: the variance must be in [" + std::to_string(kNoiseVarianceMin) +
                                                  ", " + std::to_string(kNoiseVarianceMax) + "], is " +
                                                  std::to_string(variance) + "; choose another scale of the encoding");
  }
  return NoiseSampler(make_noise_table(kind, variance, word));
}

void NoiseSampler::draw(const ByteSource& source, uint64_t first, std::span<int32_t> noise) const {
  draw(cpu_simd_level(), source, first, noise);
}

void NoiseSampler::draw(SimdLevel level, const ByteSource& source, uint64_t first, std::span<int32_t> noise) const {
  for_each_tile(level, table_, bytes_per_draw(), source, first, noise.size(),
                [&](size_t begin, std::span<const int32_t> tile) {
                  std::copy(tile.begin(), tile.end(), noise.begin() + static_cast<std::ptrdiff_t>(begin));
                });
}

void NoiseSampler::add_to(const ByteSource& source, uint64_t first, std::span<uint16_t> lanes) const {
  add_noise(*this, source, first, lanes);
}
void NoiseSampler::add_to(const ByteSource& source, uint64_t first, std::span<uint32_t> lanes) const {
  add_noise(*this, source, first, lanes);
}
void NoiseSampler::add_to(const ByteSource& source, uint64_t first, std::span<uint64_t> lanes) const {
  add_noise(*this, source, first, lanes);
}

double NoiseSampler::delta_error(uint64_t draws, double epsilon) const {
  return (1 + std::exp(epsilon)) * static_cast<double>(draws) * table_.total_variation * (1 + 0x1p-40);
}

}  // namespace coterie
