#include "aggregation/strategy/strategy.h"

namespace coterie::strategy {
namespace {

constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 0.001f, kAboveZero, "factor of each step"},
    {"beta1", 0.9f, kFromZeroBelowOne, "memory of the first moment"},
    {"beta2", 0.99f, kFromZeroBelowOne, "memory of the second moment"},
};

// w <- w + eta sign(beta1 m + (1 - beta1) mean);  m <- beta2 m + (1 - beta2) mean. The sign of 0 is 0: what no device
// moves stays as it is, to the bit.
void apply(const StrategyTile& tile) {
  const float rate = tile.settings[0], beta1 = tile.settings[1], beta2 = tile.settings[2];
  const std::span<float> moment = tile.state[0];
  for (size_t i = 0; i < tile.weights.size(); ++i) {
    const float direction = beta1 * moment[i] + (1 - beta1) * tile.mean[i];
    tile.weights[i] += rate * (direction > 0 ? 1.0f : direction < 0 ? -1.0f : 0.0f);
    moment[i] = beta2 * moment[i] + (1 - beta2) * tile.mean[i];
  }
}

}  // namespace

extern const StrategyRule kFedLion = {
    .name = "fedlion",
    .stored_as = 6,
    .sentence = "steps of one length, by the sign of the mean with momentum",
    .source = "Chen et al. 2023",
    .learning_rate_advised = 0.001,
    .settings = kSettings,
    .state_vectors = 1,
    .apply = apply,
};

}  // namespace coterie::strategy
