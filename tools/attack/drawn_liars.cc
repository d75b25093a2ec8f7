#include "tools/attack/drawn_liars.h"

#include "base/random.h"

namespace coterie {

// Floyd's draw of distinct places.
std::vector<bool> drawn_liars(const Attack& attack, uint32_t updates, uint64_t seed) {
  std::vector<bool> lies(updates, false);
  Prng prng(seed);
  for (uint32_t last = updates - attack.liars_of(updates); last < updates; ++last) {
    const uint64_t place = prng.below(uint64_t{last} + 1);
    lies[lies[place] ? last : place] = true;
  }
  return lies;
}

}  // namespace coterie
