#include "aggregation/strategy/strategy.h"

namespace coterie::strategy {
namespace {

// A mean that stays the same moves the model by rate / (1 - momentum) times it: the rate's default makes that 3.
constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 0.3f, kAboveZero, "factor of each step"},
    {"momentum", 0.9f, kFromZeroBelowOne, "share of the last step that goes into the next"},
};

// m <- beta m + mean;  w <- w + eta m. Not Nesterov's look ahead, and no (1 - beta) before the mean.
void apply(const StrategyTile& tile) {
  const float rate = tile.settings[0], momentum = tile.settings[1];
  const std::span<float> moment = tile.state[0];
  for (size_t i = 0; i < tile.weights.size(); ++i) {
    moment[i] = momentum * moment[i] + tile.mean[i];
    tile.weights[i] += rate * moment[i];
  }
}

}  // namespace

extern const StrategyRule kFedAvgM = {
    .name = "fedavgm",
    .stored_as = 3,
    .sentence = "adds the mean with momentum, without Nesterov's look ahead",
    .source = "Hsu et al. 2019",
    .learning_rate_advised = 0.3,
    .settings = kSettings,
    .is_linear = true,
    .state_vectors = 1,
    .apply = apply,
};

}  // namespace coterie::strategy
