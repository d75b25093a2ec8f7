#include "device_sdk/agent/normalised_steps.h"

#include "proto/messages/running_statistics.h"

namespace coterie {

double step_length(const TrainingSettings& training, uint64_t steps) {
  const double momentum = static_cast<double>(training.optimizer.momentum);
  const double pull = static_cast<double>(training.optimizer.learning_rate) * static_cast<double>(training.proximal_mu);
  double velocity = 0, length = 0;
  for (uint64_t step = 0; step < steps; ++step) {
    velocity = momentum * velocity + 1 - pull * length;
    length += velocity;
  }
  return length;
}

void normalise_steps(const TrainingSettings& training, uint64_t steps, std::span<const ValueRange> parameters,
                     std::span<float> delta) {
  if (training.normalised_steps == 0) return;
  const double length = step_length(training, steps);
  // A pull that is too strong for its rate swings: then a constant gradient may have come to nothing.
  if (length <= 0) return;
  const auto factor = static_cast<float>(static_cast<double>(training.normalised_steps) / length);
  for (const ValueRange& range : parameters) {
    for (float& value : delta.subspan(range.first, range.count)) value *= factor;
  }
}

}  // namespace coterie
