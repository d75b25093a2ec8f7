#include "proto/messages/group_weights.h"

#include <algorithm>

#include "base/assert.h"
#include "proto/messages/plan.h"

namespace coterie {

uint32_t group_count(const UpdateRules& rules) {
  return static_cast<uint32_t>(std::ranges::count(rules.scalars, ScalarKind::group_member, &ScalarRule::kind));
}

uint64_t handed_value_count(const UpdateRules& rules) {
  const uint64_t groups = group_count(rules);
  return groups > 0 ? 2 * groups : rules.control_value_count;
}

std::vector<double> group_factors(std::span<const float> state, uint32_t groups) {
  std::vector<double> factors(groups, 1);
  if (state.empty()) return factors;
  COT_ASSERT(state.size() == 2 * size_t{groups});
  for (size_t g = 0; g < groups; ++g) {
    factors[g] = static_cast<double>(state[g]) / std::max(static_cast<double>(state[groups + g]), kGroupShareMin);
  }
  const double most = std::ranges::max(factors);
  for (double& factor : factors) factor /= most;
  return factors;
}

Status check_group_weights(std::span<const float> state) {
  const bool are_shares = std::ranges::all_of(state, [](float value) { return value >= 0 && value <= 1; });
  const auto weights = state.first(state.size() / 2);
  const bool is_one = std::ranges::any_of(weights, [](float weight) { return weight > 0; });
  if (are_shares && is_one) return {};
  return Error(ErrorCode::invalid_argument, "control: is no weights and shares of groups, each in [0, 1]");
}

}  // namespace coterie
