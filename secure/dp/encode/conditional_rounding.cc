#include "secure/dp/encode/conditional_rounding.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/assert.h"
#include "secure/crypto/secret.h"

namespace coterie {
namespace {

constexpr size_t kTile = 1024;

struct Tile {
  std::array<int64_t, kTile> fixed;  // value * factor * 2^32, cut towards 0
  std::array<uint32_t, kTile> random;

  ~Tile() {
    wipe({reinterpret_cast<uint8_t*>(fixed.data()), sizeof fixed});
    wipe({reinterpret_cast<uint8_t*>(random.data()), sizeof random});
  }
};

void to_fixed(std::span<const float> values, double factor, int64_t* fixed) {
  const double scale = factor * 0x1p32;  // exact, but for denormal factors
  for (size_t i = 0; i < values.size(); ++i) {
    fixed[i] = static_cast<int64_t>(std::clamp(values[i] * scale, -0x1p62, 0x1p62));
  }
}

void read_random(const ByteSource& source, uint64_t position, size_t count, uint32_t* random) {
  source.write(4 * position, {reinterpret_cast<uint8_t*>(random), 4 * count});
}

// Down to a whole number, and one more with the probability of what is left.
int64_t rounded(int64_t fixed, uint32_t random) {
  // random < fraction, as the top bit of a difference: a comparison may become a branch on a secret.
  const auto fraction = static_cast<uint64_t>(fixed) & 0xffffffffu;
  return (fixed >> 32) + static_cast<int64_t>((static_cast<uint64_t>(random) - fraction) >> 63);
}

int64_t cut_towards_zero(int64_t fixed) { return (fixed + ((fixed >> 63) & 0xffffffff)) >> 32; }

// The first try that is short enough, or kRoundingTries: by arithmetic alone.
uint64_t first_within(const std::array<uint64_t, kRoundingTries>& sums, uint64_t max) {
  uint64_t chosen = 0, searching = 1;
  for (const uint64_t sum : sums) {
    searching &= (max - sum) >> 63;  // both below 2^63: 1 if sum is above max
    chosen += searching;
  }
  return chosen;
}

}  // namespace

uint64_t rounded_norm_squared_max(double scaled_norm, size_t dimension) {
  const auto d = static_cast<double>(dimension);
  const double always = (scaled_norm + std::sqrt(d)) * (scaled_norm + std::sqrt(d));
  const double mostly =
      scaled_norm * scaled_norm + d / 4 + std::sqrt(-2 * std::log(kRoundingBeta)) * (scaled_norm + std::sqrt(d) / 2);
  return static_cast<uint64_t>(std::min(always, mostly));
}

void round_conditionally(const ByteSource& random, std::span<const float> values, double factor,
                         uint64_t norm_squared_max, std::span<int32_t> out) {
  COT_ASSERT(values.size() == out.size() && norm_squared_max < uint64_t{1} << 62);
  Tile tile;
  std::array<uint64_t, kRoundingTries> sums{};
  for (size_t begin = 0; begin < values.size(); begin += kTile) {
    const size_t count = std::min(kTile, values.size() - begin);
    to_fixed(values.subspan(begin, count), factor, tile.fixed.data());
    for (size_t t = 0; t < kRoundingTries; ++t) {
      read_random(random, t * values.size() + begin, count, tile.random.data());
      uint64_t sum = 0;
      for (size_t i = 0; i < count; ++i) {
        const int64_t z = rounded(tile.fixed[i], tile.random[i]);
        sum += static_cast<uint64_t>(z * z);
      }
      sums[t] += sum;
    }
  }

  // The tries are kept as what they were made of: to make the chosen one again is cheaper than to hold eight.
  // Without a branch: how many tries it took, and which was taken, must not be seen in the time.
  const uint64_t chosen = first_within(sums, norm_squared_max);
  const uint64_t none = chosen >> 3;  // 1 if all are too long
  const uint64_t made_of = chosen - none;
  const auto cut = -static_cast<int64_t>(none);
  static_assert(kRoundingTries == 8);
  for (size_t begin = 0; begin < values.size(); begin += kTile) {
    const size_t count = std::min(kTile, values.size() - begin);
    to_fixed(values.subspan(begin, count), factor, tile.fixed.data());
    read_random(random, made_of * values.size() + begin, count, tile.random.data());
    for (size_t i = 0; i < count; ++i) {
      const int64_t random_one = rounded(tile.fixed[i], tile.random[i]);
      const int64_t cut_one = cut_towards_zero(tile.fixed[i]);
      out[begin + i] = static_cast<int32_t>((random_one & ~cut) | (cut_one & cut));
    }
  }
}

}  // namespace coterie
