// Another model near a given one: what clusters of a job begin as (model_clusters.h), on whichever side. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "proto/messages/running_statistics.h"

namespace coterie {

// Each weight w of a parameter (its range among `values`) whose weights have the root mean square r becomes
//
//   (w + spread r z) / sqrt(1 + spread^2)      z normal, of `seed`
//
// so that r stays. All else, and parameters that are all 0, stay as they are. Precondition: spread is finite and >= 0.
void perturb(std::span<float> values, std::span<const ValueRange> parameters, double spread, uint64_t seed);

}  // namespace coterie
