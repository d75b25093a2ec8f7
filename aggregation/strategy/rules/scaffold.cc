#include "aggregation/strategy/mean_step.h"

namespace coterie::strategy {
namespace {

constexpr SettingRange kOption{[](float value) { return value == 1 || value == 2; }, "must be 1 or 2"};

// population_size has no default: a job without one is refused (scheduler/job/correction_rules.h).
constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 1.0f, kAboveZero, "factor of the mean"},
    {"population_size", 0.0f, kFromZero, "devices that the population has"},
    {"option", 2.0f, kOption, "what a device keeps: 1, the gradient at the given model; 2, the mean of its steps"},
};

// c <- c + |S| / N mean: the sum of what the counted devices move theirs by, over all N. So c stays the mean of all
// devices' own, those that have not trained yet with 0.
void apply_control(const StrategyTile& tile) {
  const float population = tile.settings[1];
  const float share = population > 0 ? static_cast<float>(tile.updates) / population : 1;
  const std::span<float> control = tile.state[0];
  for (size_t i = 0; i < tile.mean.size(); ++i) control[i] += share * tile.mean[i];
}

}  // namespace

extern const StrategyRule kScaffold = {
    .name = "scaffold",
    .stored_as = 8,
    .sentence = "the mean of devices that take off their own drift, and send how it changed",
    .source = "Karimireddy et al. 2020, algorithm 1",
    .learning_rate_advised = 1.0,
    .settings = kSettings,
    .correction = CorrectionKind::scaffold,
    .state_vectors = 1,
    .apply = mean_step,
    .apply_control = apply_control,
};

}  // namespace coterie::strategy
