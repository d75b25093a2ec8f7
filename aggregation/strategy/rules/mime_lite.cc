#include "aggregation/strategy/mean_step.h"

namespace coterie::strategy {
namespace {

constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 1.0f, kAboveZero, "factor of the mean"},
    {"momentum", 0.9f, kFromZeroBelowOne, "share of the gradients so far in each step of the devices"},
};

// With m the momentum of SGD over the rounds' gradients g, m <- beta m + g, the state is s = beta m: what devices add
// to each gradient (proto/messages/drift_correction.h).
void apply_control(const StrategyTile& tile) {
  const float momentum = tile.settings[1];
  const std::span<float> s = tile.state[0];
  for (size_t i = 0; i < tile.mean.size(); ++i) s[i] = momentum * (s[i] + tile.mean[i]);
}

}  // namespace

extern const StrategyRule kMimeLite = {
    .name = "mime_lite",
    .stored_as = 11,
    .sentence = "the mean of devices whose steps have the server's momentum, which they leave as it is",
    .source = "Karimireddy et al. 2021, algorithm 1, MimeLite with momentum",
    .learning_rate_advised = 1.0,
    .settings = kSettings,
    .correction = CorrectionKind::mime_lite,
    .state_vectors = 1,
    .apply = mean_step,
    .apply_control = apply_control,
};

}  // namespace coterie::strategy
