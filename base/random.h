// Prng: small seeded generator for decisions that must replay (shuffling, jitter, selection, simulation). Never keys:
// those come from secure/crypto/random.h.
//
// xoshiro256** 1.0 by Blackman and Vigna, seeded through SplitMix64 (https://prng.di.unimi.it, public domain
// reference).
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/assert.h"

namespace coterie {

class Prng {
 public:
  using State = std::array<uint64_t, 4>;

  explicit Prng(uint64_t seed) {
    for (uint64_t& word : state_) word = split_mix(seed);
  }
  // Goes on where `state` was taken. All zeros is the one state the generator cannot leave (and never reaches): a
  // damaged file that brings it gives Prng(0).
  static Prng from_state(const State& state) {
    Prng prng(0);
    if (state != State{}) prng.state_ = state;
    return prng;
  }
  const State& state() const { return state_; }

  // A generator whose stream is unrelated to this one's, named by `stream`: the same name gives the same stream.
  static Prng derived(uint64_t seed, uint64_t stream) {
    uint64_t mixed = seed;
    const uint64_t a = split_mix(mixed);
    mixed = stream ^ 0x9e3779b97f4a7c15u;
    return Prng(a ^ split_mix(mixed));
  }

  uint64_t next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound), bound > 0, without modulo bias (Lemire's multiply-and-reject).
  uint64_t below(uint64_t bound) {
    COT_ASSERT(bound > 0);
    __extension__ using uint128 = unsigned __int128;
    const uint64_t threshold = (0 - bound) % bound;
    for (;;) {
      const uint128 product = static_cast<uint128>(next()) * bound;
      if (static_cast<uint64_t>(product) >= threshold) return static_cast<uint64_t>(product >> 64);
    }
  }

  // Uniform in [0, 1) with 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  bool chance(double probability) { return uniform() < probability; }

  // Standard normal by Box-Muller; one value a call, so that the state alone says where the stream stands.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }

  // Fisher-Yates.
  template <typename Container>
  void shuffle(Container& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  static uint64_t split_mix(uint64_t& x) {
    x += 0x9e3779b97f4a7c15u;
    uint64_t z = x;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  State state_{};
};

}  // namespace coterie
