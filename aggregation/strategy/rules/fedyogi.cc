#include "aggregation/strategy/strategy.h"

namespace coterie::strategy {
namespace {

constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 0.01f, kAboveZero, "factor of each step"},
    {"beta1", 0.9f, kFromZeroBelowOne, "memory of the first moment"},
    {"beta2", 0.99f, kFromZeroBelowOne, "how slowly the second moment follows"},
    {"tau", 0.001f, kAboveZero, "added to the root of the second moment"},
};

// Reddi et al. ask for a second moment of at least tau^2 from the start.
float start(size_t vector, std::span<const float> settings) { return vector == 1 ? settings[3] * settings[3] : 0; }

// m <- beta1 m + (1 - beta1) mean;  v <- v - (1 - beta2) mean^2 sign(v - mean^2);  w <- w + eta m / (sqrt(v) + tau)
// v never goes below 0: it falls only while it is above mean^2, by a part of that.
void apply(const StrategyTile& tile) {
  const float rate = tile.settings[0], beta1 = tile.settings[1], beta2 = tile.settings[2], tau = tile.settings[3];
  const std::span<float> first = tile.state[0], second = tile.state[1];
  for (size_t i = 0; i < tile.weights.size(); ++i) {
    const float mean = tile.mean[i], square = mean * mean;
    first[i] = beta1 * first[i] + (1 - beta1) * mean;
    const float change = (1 - beta2) * square;
    if (second[i] > square) second[i] -= change;
    else if (second[i] < square) second[i] += change;
    tile.weights[i] += rate * first[i] / (std::sqrt(second[i]) + tau);
  }
}

}  // namespace

extern const StrategyRule kFedYogi = {
    .name = "fedyogi",
    .stored_as = 5,
    .sentence = "as fedadam, with a second moment that moves by a bounded amount a round",
    .source = "Reddi et al. 2021, algorithm 2",
    .learning_rate_advised = 0.01,
    .settings = kSettings,
    .state_vectors = 2,
    .state_start = start,
    .apply = apply,
};

}  // namespace coterie::strategy
