#include "scheduler/selection/selection_registry.h"

#include <algorithm>
#include <cmath>
#include <iterator>

// X(rule): the default first.
#define COT_SELECTION_RULES(X) \
  X(kUniform)                  \
  X(kBalanced)                 \
  X(kPowerOfChoice)            \
  X(kUtility)

namespace coterie {
namespace selection {

#define COT_DECLARE(rule) extern const SelectionRule rule;
COT_SELECTION_RULES(COT_DECLARE)
#undef COT_DECLARE

}  // namespace selection

namespace {

#define COT_ADDRESS(rule) &selection::rule,
constexpr const SelectionRule* kRules[] = {COT_SELECTION_RULES(COT_ADDRESS)};
#undef COT_ADDRESS

}  // namespace

uint64_t candidates_of(uint64_t tickets, float ratio) {
  return static_cast<uint64_t>(std::ceil(static_cast<double>(tickets) * static_cast<double>(ratio)));
}

std::span<const SelectionRule* const> selection_rules() { return kRules; }

std::vector<std::string_view> selection_names() {
  std::vector<std::string_view> names;
  for (const SelectionRule* rule : kRules) names.emplace_back(rule->name);
  return names;
}

const SelectionRule* find_selection(std::string_view name) {
  const auto found = std::ranges::find_if(kRules, [&](const SelectionRule* rule) { return rule->name == name; });
  return found == std::end(kRules) ? nullptr : *found;
}

const SelectionRule& default_selection() { return *kRules[0]; }

}  // namespace coterie
