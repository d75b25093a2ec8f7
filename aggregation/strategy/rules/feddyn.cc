#include "aggregation/strategy/strategy.h"

namespace coterie::strategy {
namespace {

// population_size has no default: a job without one is refused (scheduler/job/correction_rules.h).
constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 1.0f, kAboveZero, "factor of the mean"},
    {"alpha", 0.1f, kAboveZero, "how strongly devices are held to the model that they were given"},
    {"population_size", 0.0f, kFromZero, "devices that the population has"},
};

// With share the part of the population that this round counts:
//   s <- s + share mean;  w <- w + eta mean + s
// The paper's h is -alpha s: the mean of the devices' own vectors h (drift_correction.h), as long as each device moves
// its own when its update counts, and only then. Divided by alpha it is s, so that no alpha is left here.
void apply(const StrategyTile& tile) {
  const float rate = tile.settings[0], population = tile.settings[2];
  const float share = population > 0 ? static_cast<float>(tile.updates) / population : 1;
  const std::span<float> drift = tile.state[0];
  for (size_t i = 0; i < tile.weights.size(); ++i) {
    drift[i] += share * tile.mean[i];
    tile.weights[i] += rate * tile.mean[i] + drift[i];
  }
}

}  // namespace

extern const StrategyRule kFedDyn = {
    .name = "feddyn",
    .stored_as = 7,
    .sentence = "adds the mean and what devices were held back by, which they remember",
    .source = "Acar et al. 2021, algorithm 1",
    .learning_rate_advised = 1.0,
    .settings = kSettings,
    .correction = CorrectionKind::feddyn,
    .state_vectors = 1,
    .apply = apply,
};

}  // namespace coterie::strategy
