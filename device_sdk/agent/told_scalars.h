// What an update tells beside how far the model moves (proto/messages/update_scalars.h), and what its device weighs
// beside (fair_weight.h).
#pragma once

#include <span>

#include "device_sdk/agent/given_pass.h"
#include "proto/messages/plan.h"
#include "proto/messages/running_statistics.h"

namespace coterie {

// Scales the parameters' part of `update`, which is limited already, by the device's fair weight, and writes its last
// values, the scalars. `parameters` are places in it. Without either in the rules nothing changes.
void tell_scalars(const TrainingSettings& training, const UpdateRules& rules, std::span<const ValueRange> parameters,
                  const GivenFacts& given, std::span<float> update);

}  // namespace coterie
