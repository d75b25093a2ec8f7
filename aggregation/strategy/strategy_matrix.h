// StrategyMatrix: what a strategy is told of a linear map that it moves as a whole.
#pragma once

#include <cstddef>
#include <span>

namespace coterie {

// A linear map of the model (proto/messages/linear_maps.h), as a whole: `rows` * `columns` values, row by row. So many
// have all spans but `settings` and `state`, and each vector of `state`.
struct StrategyMatrix {
  size_t rows, columns;
  std::span<const float> mean;              // as in a tile
  std::span<const float> settings;          // likewise
  std::span<const std::span<float>> state;  // where these values have theirs; the rule keeps there what it likes
  std::span<float> step;                    // written: what the weights are moved by
};

}  // namespace coterie
