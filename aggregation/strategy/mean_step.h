// The step of rules that move the model along the mean, and by nothing else.
#pragma once

#include "aggregation/strategy/strategy.h"

namespace coterie::strategy {

// w <- w + eta factor mean. `settings[0]` is eta; the factor of a rule without `step_factor` is 1.
inline void mean_step(const StrategyTile& tile) {
  const float rate = tile.settings[0] * tile.factor;
  for (size_t i = 0; i < tile.weights.size(); ++i) tile.weights[i] += rate * tile.mean[i];
}

}  // namespace coterie::strategy
