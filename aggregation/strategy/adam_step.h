// The step of FedAdam, and of rules that leave to it what they do not move themselves.
#pragma once

#include <cmath>

#include "aggregation/strategy/strategy.h"

namespace coterie::strategy {

struct AdamStepSettings {
  float rate, beta1, beta2, tau;
};

// m <- beta1 m + (1 - beta1) mean;  v <- beta2 v + (1 - beta2) mean^2;  w <- w + rate m / (sqrt(v) + tau), with m and v
// the first two state vectors. No bias correction, as in the source: Reddi et al. 2021, algorithm 2.
inline void adam_step(const StrategyTile& tile, const AdamStepSettings& s) {
  const std::span<float> first = tile.state[0], second = tile.state[1];
  for (size_t i = 0; i < tile.weights.size(); ++i) {
    const float mean = tile.mean[i];
    first[i] = s.beta1 * first[i] + (1 - s.beta1) * mean;
    second[i] = s.beta2 * second[i] + (1 - s.beta2) * mean * mean;
    tile.weights[i] += s.rate * first[i] / (std::sqrt(second[i]) + s.tau);
  }
}

// For rules that move linear maps as a whole, and all other values by this. Their settings are the rate, one of their
// own, beta1, beta2, tau.
inline void adam_step_of_others(const StrategyTile& tile) {
  adam_step(tile, {tile.settings[0], tile.settings[2], tile.settings[3], tile.settings[4]});
}

}  // namespace coterie::strategy
