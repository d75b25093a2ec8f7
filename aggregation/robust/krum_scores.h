// Krum's score of an update: the sum of its squared distances to those nearest to it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "aggregation/robust/update_distances.h"

namespace coterie::robust {

// Scores of `among` (indices of updates, each once), in their order: each over the `among`.size() - liars_max - 2
// nearest others of them, at least one (Blanchard et al. 2017).
std::vector<double> krum_scores(const UpdateDistances& distances, std::span<const size_t> among, uint32_t liars_max);

// 0, 1, ..., updates - 1.
std::vector<size_t> all_of(const UpdateDistances& distances);

}  // namespace coterie::robust
