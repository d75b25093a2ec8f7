#include "tests/unit/secure/dp/counter_source.h"

namespace coterie::test {
namespace {

// SplitMix64's finaliser (https://prng.di.unimi.it), twice, so that seeds next to each other are no neighbours.
uint64_t mix(uint64_t x) {
  for (int i = 0; i < 2; ++i) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
  }
  return x;
}

}  // namespace

void CounterSource::write(uint64_t byte_offset, std::span<uint8_t> out) const {
  uint64_t word = 0, held = ~uint64_t{0};
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t position = byte_offset + i;
    if (position / 8 != held) {
      held = position / 8;
      word = mix(mix(seed_) + held * 0x9e3779b97f4a7c15u);
    }
    out[i] = static_cast<uint8_t>(word >> (8 * (position % 8)));
  }
}

}  // namespace coterie::test
