#include "aggregation/strategy/strategy.h"

namespace coterie::strategy {
namespace {

constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 0.1f, kAboveZero, "factor of each step"},
    {"beta1", 0.0f, kFromZeroBelowOne, "memory of the first moment"},
    {"tau", 0.001f, kAboveZero, "added to the root of the second moment"},
};

// Reddi et al. ask for a second moment of at least tau^2 from the start.
float start(size_t vector, std::span<const float> settings) { return vector == 1 ? settings[2] * settings[2] : 0; }

// m <- beta1 m + (1 - beta1) mean;  v <- v + mean^2;  w <- w + eta m / (sqrt(v) + tau)
void apply(const StrategyTile& tile) {
  const float rate = tile.settings[0], beta1 = tile.settings[1], tau = tile.settings[2];
  const std::span<float> first = tile.state[0], second = tile.state[1];
  for (size_t i = 0; i < tile.weights.size(); ++i) {
    const float mean = tile.mean[i];
    first[i] = beta1 * first[i] + (1 - beta1) * mean;
    second[i] += mean * mean;
    tile.weights[i] += rate * first[i] / (std::sqrt(second[i]) + tau);
  }
}

}  // namespace

extern const StrategyRule kFedAdagrad = {
    .name = "fedadagrad",
    .stored_as = 4,
    .sentence = "steps that shrink with the sum of all squared means",
    .source = "Reddi et al. 2021, algorithm 2",
    .learning_rate_advised = 0.1,
    .settings = kSettings,
    .state_vectors = 2,
    .state_start = start,
    .apply = apply,
};

}  // namespace coterie::strategy
