#include "aggregation/strategy/registry.h"

#include <algorithm>

#include "base/assert.h"

// X(rule): the default first.
#define COT_STRATEGIES(X) \
  X(kFedAvg)              \
  X(kFedAvgM)             \
  X(kFedAdagrad)          \
  X(kFedAdam)             \
  X(kFedYogi)             \
  X(kFedLion)             \
  X(kFedMuon)             \
  X(kFedShampoo)          \
  X(kFedDyn)              \
  X(kScaffold)            \
  X(kFedExp)              \
  X(kQffl)                \
  X(kMimeLite)            \
  X(kAfl)

namespace coterie {
namespace strategy {

#define COT_DECLARE(rule) extern const StrategyRule rule;
COT_STRATEGIES(COT_DECLARE)
#undef COT_DECLARE

}  // namespace strategy

namespace {

#define COT_ADDRESS(rule) &strategy::rule,
constexpr const StrategyRule* kStrategies[] = {COT_STRATEGIES(COT_ADDRESS)};
#undef COT_ADDRESS

}  // namespace

std::span<const StrategyRule* const> strategies() { return kStrategies; }

std::vector<std::string_view> strategy_names() {
  std::vector<std::string_view> names;
  for (const StrategyRule* rule : kStrategies) names.emplace_back(rule->name);
  return names;
}

const StrategyRule* find_strategy(std::string_view name) {
  const auto found = std::ranges::find_if(kStrategies, [&](const StrategyRule* rule) { return rule->name == name; });
  return found == std::end(kStrategies) ? nullptr : *found;
}

const StrategyRule& default_strategy() { return *kStrategies[0]; }

}  // namespace coterie
