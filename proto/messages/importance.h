// ImportanceRules: which columns a device permutes among its examples for a model that it evaluates. What it means to
// the lane: importance_lanes.h.
#pragma once

#include <cstdint>
#include <vector>

namespace coterie {

// Numbers of an example's input that move together: one, or those that a category became, or those of several columns.
struct PermutedColumn {
  uint32_t feature = 0;  // the first of them
  uint32_t width = 1;
  friend bool operator==(const PermutedColumn&, const PermutedColumn&) = default;
};

struct ImportanceRules {
  std::vector<PermutedColumn> columns = {};
  uint32_t repeats = 5;  // orders that are drawn for each column
  friend bool operator==(const ImportanceRules&, const ImportanceRules&) = default;
};

}  // namespace coterie
