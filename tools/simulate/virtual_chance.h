// The chance of a virtual fleet: each use of it has its own stream, so that changing one does not change the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "base/random.h"

namespace coterie {

enum class ChanceOf : uint64_t { draw = 1, speed = 2, loss = 3, order = 4 };

inline Prng chance_of(uint64_t seed, ChanceOf use, uint64_t a, uint64_t b = 0) {
  return Prng::derived(Prng::derived(Prng::derived(seed, static_cast<uint64_t>(use)).next(), a).next(), b);
}

// `count` of the numbers below `of`, ascending: each set of them as likely as any other, by Floyd's algorithm (Bentley
// and Floyd 1987). Precondition: count <= of.
inline std::vector<uint32_t> draw_numbers(uint32_t count, uint32_t of, Prng& prng) {
  std::unordered_set<uint32_t> chosen;
  for (uint32_t last = of - count; last < of; ++last) {
    const auto number = static_cast<uint32_t>(prng.below(uint64_t{last} + 1));
    if (!chosen.insert(number).second) chosen.insert(last);
  }
  std::vector<uint32_t> numbers(chosen.begin(), chosen.end());
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// The numbers of ascending `ranks` among all that are not in `taken`, which is ascending, too.
std::vector<uint32_t> among_others(std::vector<uint32_t> ranks, const auto& taken) {
  auto next = taken.begin();
  uint32_t skipped = 0;
  for (uint32_t& rank : ranks) {
    for (; next != taken.end() && *next <= rank + skipped; ++next) ++skipped;
    rank += skipped;
  }
  return ranks;
}

}  // namespace coterie
