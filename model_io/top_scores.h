// The classes that a model finds most likely.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace coterie {

// The places of the `count` largest scores (of all, if there are fewer), largest first; of equals the first, and a NaN
// behind every number.
std::vector<uint32_t> top_scores(std::span<const float> scores, uint32_t count);

}  // namespace coterie
