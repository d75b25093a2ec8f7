// The registry of selection rules: a rule is a file in rules/ and a row here.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "scheduler/selection/selection_rule.h"

namespace coterie {

// In one order everywhere; the default is the first.
std::span<const SelectionRule* const> selection_rules();
std::vector<std::string_view> selection_names();
// Null: there is none of this name.
const SelectionRule* find_selection(std::string_view name);
const SelectionRule& default_selection();

}  // namespace coterie
