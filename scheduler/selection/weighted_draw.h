// A draw without replacement, one by one, each time with probabilities in proportion to the scores of those who are
// left: by exponential keys, -ln(u) / score, the lowest first (Efraimidis and Spirakis 2006, algorithm A). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace coterie {

// Indices, in the order of the draw. Preconditions: scores are finite and above 0; count <= scores.size().
std::vector<uint32_t> weighted_draw(std::span<const double> scores, size_t count, Prng& chance);

// Raises what is below the highest / ratio_max to that: nobody is drawn more than ratio_max times as likely as another.
// Preconditions: scores are finite and at least 0, and there is one; ratio_max >= 1.
void bound_scores(std::span<double> scores, float ratio_max);

}  // namespace coterie
