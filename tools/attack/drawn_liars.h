// Who lies in a round whose liars are drawn: as many as the attack's share says, anew in each round.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/attack/attack.h"

namespace coterie {

// Whether each of a round's `updates` is a lie, by its place. The same `seed`, which is the round's, draws the same.
std::vector<bool> drawn_liars(const Attack& attack, uint32_t updates, uint64_t seed);

}  // namespace coterie
