#include "aggregation/optimizer/server_optimizer.h"

#include <cmath>

#include "base/assert.h"

namespace coterie {

void apply_fedavg(std::span<const float> mean, float learning_rate, std::span<float> weights) {
  COT_ASSERT(mean.size() == weights.size());
  for (size_t i = 0; i < weights.size(); ++i) weights[i] += learning_rate * mean[i];
}

void apply_fedadam(std::span<const float> mean, float learning_rate, const FedAdamSettings& settings,
                   std::span<float> weights, std::span<float> first, std::span<float> second) {
  COT_ASSERT(mean.size() == weights.size() && first.size() == weights.size() && second.size() == weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    first[i] = settings.beta1 * first[i] + (1 - settings.beta1) * mean[i];
    second[i] = settings.beta2 * second[i] + (1 - settings.beta2) * mean[i] * mean[i];
    weights[i] += learning_rate * first[i] / (std::sqrt(second[i]) + settings.tau);
  }
}

}  // namespace coterie
