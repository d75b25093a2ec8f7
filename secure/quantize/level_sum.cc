#include "secure/quantize/level_sum.h"

#include <string>

#include "base/assert.h"
#include "proto/messages/plan.h"
#include "proto/messages/quantized_lanes.h"
#include "secure/quantize/quantization_grid.h"

namespace coterie {

Result<uint64_t> summed_weight_of(std::span<const uint64_t> digits, uint64_t updates, const UpdateRules& rules) {
  const auto bad = [&](const std::string& what) {
    return Error(ErrorCode::malformed, "sum: " + what + " of " + std::to_string(updates) +
                                           " updates, which no devices that follow the plan have");
  };
  uint64_t weight = 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    // Single digits came masked, so that only their sum can be held against what is possible.
    if (digits[i] > updates * level_max(rules.quantization)) return bad("digits of weights too large");
    weight += digits[i] << (i * rules.quantization.bits);
  }
  if (weight >= updates && weight <= updates * rules.fixed_point.weight_max) return weight;
  return bad("a weight of " + std::to_string(weight));
}

void mean_of_levels(std::span<const uint64_t> levels, uint64_t updates, uint64_t weight_sum, const UpdateRules& rules,
                    std::span<float> mean) {
  COT_ASSERT(levels.size() == mean.size() && updates > 0 && weight_sum > 0);
  const uint64_t top = level_max(rules.quantization);
  const double weighed = grid_half_width(rules) * rules.fixed_point.weight_max;
  const double unit = weighed / (static_cast<double>(top) * static_cast<double>(weight_sum));
  // Each update adds level - top / 2, in halves so that all is whole; the middles of all updates are taken off at once.
  const auto middle = static_cast<int64_t>(updates * top);
  for (size_t i = 0; i < levels.size(); ++i) {
    const int64_t twice = 2 * static_cast<int64_t>(levels[i]) - middle;
    mean[i] = static_cast<float>(static_cast<double>(twice) * unit);
  }
}

}  // namespace coterie
