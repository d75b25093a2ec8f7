// The robust rules that there are. A new one is a file in rules/ with its row, a line in registry.cc and its source in
// CMakeLists.txt. The mean is none of them: it needs the sum of the updates alone.
#pragma once

#include <span>
#include <string_view>

#include "aggregation/robust/robust_rule.h"

namespace coterie {

// In the order in which documents list them.
std::span<const RobustRule* const> robust_rules();
// Null: there is none of this name.
const RobustRule* find_robust_rule(std::string_view name);

}  // namespace coterie
