#include "aggregation/strategy/mean_step.h"
#include "proto/messages/fair_weight.h"

namespace coterie::strategy {
namespace {

constexpr SettingRange kPower{[](float value) { return value >= 0 && value <= kFairPowerMax; }, "must be in [0, 10]"};

constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 1.0f, kAboveZero, "factor of each step"},
    {"q", 0.1f, kPower, "power of its loss that a device weighs by; 0: all devices weigh alike"},
    {"loss_max", 10.0f, kLossBound, "devices with a larger loss weigh as with this one"},
};

// Devices send their weights within their updates (device_sdk/agent/told_scalars.h): what is left is the mean of those
// divided by the mean of the paper's h. That is above 0 unless somebody lies, and then nothing moves.
float step_factor(const StrategyRound& round) {
  const double step = round.scalars[0];
  return step > 0 ? static_cast<float>(1 / step) : 0;
}

constexpr ScalarKind kScalars[] = {ScalarKind::fair_step};

}  // namespace

extern const StrategyRule kQffl = {
    .name = "qffl",
    .stored_as = 10,
    .sentence = "devices weigh by a power of their loss: the worst served ones move the model more",
    .source = "Li et al. 2020, algorithm 2",
    .learning_rate_advised = 1.0,
    .settings = kSettings,
    .apply = mean_step,
    .scalars = kScalars,
    .counts_alike = true,
    .step_factor = step_factor,
};

}  // namespace coterie::strategy
