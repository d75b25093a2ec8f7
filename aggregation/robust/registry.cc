#include "aggregation/robust/registry.h"

#include <algorithm>
#include <iterator>

#define COT_ROBUST_RULES(X) \
  X(kMedian)                \
  X(kTrimmedMean)           \
  X(kGeometricMedian)       \
  X(kCentredClip)           \
  X(kKrum)                  \
  X(kMultiKrum)             \
  X(kBulyan)

namespace coterie {
namespace robust {

#define COT_DECLARE(rule) extern const RobustRule rule;
COT_ROBUST_RULES(COT_DECLARE)
#undef COT_DECLARE

}  // namespace robust

namespace {

#define COT_ADDRESS(rule) &robust::rule,
constexpr const RobustRule* kRules[] = {COT_ROBUST_RULES(COT_ADDRESS)};
#undef COT_ADDRESS

// Row by row, so that memory is read in order; each coordinate is a sum in the order of updates all the same.
void add_by_shares(const RobustTile& tile) {
  // In double, as shares may be far apart. rows [updates, values of the tile], result [values of the tile].
  std::vector<double> sum(tile.result.size());
  for (size_t row = 0; row < tile.rows.size(); ++row) {
    const double share = tile.shares[row];
    if (share == 0) continue;
    const std::span<const float> values = tile.rows[row];
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += share * static_cast<double>(values[i]);
  }
  std::ranges::transform(sum, tile.result.begin(), [](double value) { return static_cast<float>(value); });
}

}  // namespace

std::span<const RobustRule* const> robust_rules() { return kRules; }

const RobustRule* find_robust_rule(std::string_view name) {
  const auto found = std::ranges::find_if(kRules, [&](const RobustRule* rule) { return rule->name == name; });
  return found == std::end(kRules) ? nullptr : *found;
}

void make_result(const RobustRule& rule, const RobustTile& tile) {
  if (rule.apply != nullptr) return rule.apply(tile);
  add_by_shares(tile);
}

}  // namespace coterie
