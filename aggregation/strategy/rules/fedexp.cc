#include <algorithm>
#include <cmath>

#include "aggregation/strategy/mean_step.h"

namespace coterie::strategy {
namespace {

constexpr SettingRange kAtLeastOne{[](float value) { return std::isfinite(value) && value >= 1; },
                                   "must be finite and >= 1"};

constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 1.0f, kAboveZero, "factor of each step"},
    {"epsilon", 0.001f, kFromZero, "added to the squared norm of the mean: larger is more careful near the end"},
    {"norm_max", 16.0f, kAboveZero, "norm that a device may claim for its update at most"},
    {"factor_max", 10.0f, kAtLeastOne, "the largest factor that devices' claims can make"},
};

// max(1, mean of |d_i|^2 / (2 (|mean|^2 + epsilon))): the paper's sum over M devices, divided by M. Devices that agree
// have 1/2 there.
float step_factor(const StrategyRound& round) {
  const double epsilon = static_cast<double>(round.settings[1]), most = static_cast<double>(round.settings[3]);
  const double below = 2 * (round.squared_norm + epsilon);
  const double factor = below > 0 ? round.scalars[0] / below : 1;
  return static_cast<float>(std::clamp(factor, 1.0, most));
}

constexpr ScalarKind kScalars[] = {ScalarKind::squared_norm};

}  // namespace

extern const StrategyRule kFedExp = {
    .name = "fedexp",
    .stored_as = 9,
    .sentence = "longer steps, the more devices' updates are at odds with their mean",
    .source = "Jhunjhunwala et al. 2023, equation 3",
    .learning_rate_advised = 1.0,
    .settings = kSettings,
    .apply = mean_step,
    .scalars = kScalars,
    .step_factor = step_factor,
};

}  // namespace coterie::strategy
