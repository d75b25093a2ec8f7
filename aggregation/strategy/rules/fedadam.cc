#include "aggregation/strategy/adam_step.h"

namespace coterie::strategy {
namespace {

// The rate's default is what jobs without one have always had; 0.01 trains better.
constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 1.0f, kAboveZero, "factor of each step"},
    {"beta1", 0.9f, kFromZeroBelowOne, "memory of the first moment"},
    {"beta2", 0.99f, kFromZeroBelowOne, "memory of the second moment"},
    {"tau", 0.001f, kAboveZero, "added to the root of the second moment"},
};

// Both moments begin at 0, unlike in the source (v >= tau^2): jobs that are stored began so, and a job's rounds must
// not depend on the server's version.
void apply(const StrategyTile& tile) {
  adam_step(tile, {tile.settings[0], tile.settings[1], tile.settings[2], tile.settings[3]});
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
