// One coordinate of every update at a time, in ascending order: what rules that go coordinate by coordinate look at.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "aggregation/robust/robust_rule.h"

namespace coterie::robust {

// result[i] = make(values), where values are coordinate i of the rows that `takes(row)` names, sorted.
template <typename Takes, typename Make>
void for_sorted_coordinates(const RobustTile& tile, Takes takes, Make make) {
  std::vector<std::span<const float>> rows;
  for (size_t row = 0; row < tile.rows.size(); ++row) {
    if (takes(row)) rows.push_back(tile.rows[row]);
  }
  std::vector<float> values(rows.size());
  for (size_t i = 0; i < tile.result.size(); ++i) {
    for (size_t row = 0; row < rows.size(); ++row) values[row] = rows[row][i];
    std::ranges::sort(values);
    tile.result[i] = static_cast<float>(make(std::span<const float>(values)));
  }
}

// The mean of the two in the middle where their number is even. Precondition: sorted, not empty.
inline double median_of(std::span<const float> sorted) {
  const size_t middle = sorted.size() / 2;
  const auto upper = static_cast<double>(sorted[middle]);
  return sorted.size() % 2 == 1 ? upper : (static_cast<double>(sorted[middle - 1]) + upper) / 2;
}

// Precondition: not empty.
inline double mean_of(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

inline constexpr auto kEveryRow = [](size_t) { return true; };

}  // namespace coterie::robust
