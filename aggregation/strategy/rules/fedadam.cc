#include "aggregation/strategy/strategy.h"

namespace coterie::strategy {
namespace {

// The rate's default is what jobs without one have always had; 0.01 trains better.
constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 1.0f, kAboveZero, "factor of each step"},
    {"beta1", 0.9f, kFromZeroBelowOne, "memory of the first moment"},
    {"beta2", 0.99f, kFromZeroBelowOne, "memory of the second moment"},
    {"tau", 0.001f, kAboveZero, "added to the root of the second moment"},
};

// m <- beta1 m + (1 - beta1) mean;  v <- beta2 v + (1 - beta2) mean^2;  w <- w + eta m / (sqrt(v) + tau)
// No bias correction, as in the source. Both moments begin at 0, unlike there (v >= tau^2): jobs that are stored began
// so, and a job's rounds must not depend on the server's version.
void apply(const StrategyTile& tile) {
  const float rate = tile.settings[0], beta1 = tile.settings[1], beta2 = tile.settings[2], tau = tile.settings[3];
  const std::span<float> first = tile.state[0], second = tile.state[1];
  for (size_t i = 0; i < tile.weights.size(); ++i) {
    const float mean = tile.mean[i];
    first[i] = beta1 * first[i] + (1 - beta1) * mean;
    second[i] = beta2 * second[i] + (1 - beta2) * mean * mean;
    tile.weights[i] += rate * first[i] / (std::sqrt(second[i]) + tau);
  }
}

}  // namespace

extern const StrategyRule kFedAdam = {
    .name = "fedadam",
    .stored_as = 2,
    .sentence = "steps that shrink where recent means are large or vary",
    .source = "Reddi et al. 2021, algorithm 2, second moment from 0",
    .learning_rate_advised = 0.01,
    .settings = kSettings,
    .state_vectors = 2,
    .apply = apply,
};

}  // namespace coterie::strategy
