// Summed levels back to the mean of the updates, at the server. Where they were rotated, rotate_whole_back of the whole
// mean comes last (shared_rotation.h).
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"

namespace coterie {

struct UpdateRules;

// What a sum of `updates` weighs, from the digits behind its levels. malformed if it is not in [updates, updates *
// weight_max], or a sum of digits is more than so many updates have: no devices that follow the plan have such a sum.
Result<uint64_t> summed_weight_of(std::span<const uint64_t> digits, uint64_t updates, const UpdateRules& rules);

// The updates' weighted mean, any part of it, as quantization_grid.h says; still rotated if they were. `updates` and
// `weight_sum` > 0. The same bits on every machine, as one whole number and one factor make each value.
void mean_of_levels(std::span<const uint64_t> levels, uint64_t updates, uint64_t weight_sum, const UpdateRules& rules,
                    std::span<float> mean);

}  // namespace coterie
