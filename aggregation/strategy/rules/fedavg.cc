#include "aggregation/strategy/mean_step.h"

namespace coterie::strategy {
namespace {

constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 1.0f, kAboveZero, "factor of the mean"},
};

// Jobs were stored with FedAdam's settings whatever their strategy was.
constexpr const char* kIgnored[] = {"beta1", "beta2", "tau"};

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
    .apply = mean_step,
};

}  // namespace coterie::strategy
