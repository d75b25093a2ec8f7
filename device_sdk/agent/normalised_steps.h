// FedNova (Wang et al. 2020): devices that make more steps go farther, and a mean of their updates leans to them. Each
// update is divided by the length of its own steps, and multiplied by the same number everywhere: the paper's tau_eff,
// which a job fixes, so that nothing but the update has to be summed.
#pragma once

#include <cstdint>
#include <span>

#include "proto/messages/plan.h"
#include "proto/messages/running_statistics.h"

namespace coterie {

// How far `steps` of sgd go, in learning rates, if each gradient is 1 at the given model: `steps` of plain ones, and
// the paper's |a| with momentum and with a proximal term. Precondition: the optimizer is sgd without nesterov.
double step_length(const TrainingSettings& training, uint64_t steps);

// Scales the parameters' part of `delta`, which so many steps have made, as training.normalised_steps says.
// `parameters`: where they lie in it.
void normalise_steps(const TrainingSettings& training, uint64_t steps, std::span<const ValueRange> parameters,
                     std::span<float> delta);

}  // namespace coterie
