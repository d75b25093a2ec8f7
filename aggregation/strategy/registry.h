// The strategies that there are. A new one is a file in rules/ with its row, a line in registry.cc and its source in
// CMakeLists.txt.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregation/strategy/strategy.h"

namespace coterie {

// In the order in which documents list them.
std::span<const StrategyRule* const> strategies();
std::vector<std::string_view> strategy_names();
// Null: there is none of this name.
const StrategyRule* find_strategy(std::string_view name);
// What a job has that names none: fedavg.
const StrategyRule& default_strategy();

}  // namespace coterie
