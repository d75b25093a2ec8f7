#include "aggregation/strategy/strategy.h"

namespace coterie::strategy {
namespace {

constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 1.0f, kAboveZero, "factor of the mean"},
};

// Jobs were stored with FedAdam's settings whatever their strategy was.
constexpr const char* kIgnored[] = {"beta1", "beta2", "tau"};

// w <- w + eta mean
void apply(const StrategyTile& tile) {
  const float rate = tile.settings[0];
  for (size_t i = 0; i < tile.weights.size(); ++i) tile.weights[i] += rate * tile.mean[i];
}

}  // namespace

extern const StrategyRule kFedAvg = {
    .name = "fedavg",
    .stored_as = 1,
    .sentence = "adds the mean of the updates",
    .source = "McMahan et al. 2017",
    .learning_rate_advised = 1.0,
    .settings = kSettings,
    .ignored = kIgnored,
    .is_linear = true,
    .apply = apply,
};

}  // namespace coterie::strategy
