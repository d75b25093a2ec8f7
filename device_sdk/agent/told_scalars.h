// What an update tells beside how far the model moves (proto/messages/update_scalars.h), and what its device weighs
// beside: by its group (proto/messages/group_weights.h), or by its loss in q-FFL (Li et al. 2020, "Fair Resource
// Allocation in Federated Learning", algorithm 2, q-FedAvg).
//
// The paper's sums are over w_k = F_k^q L (given - trained) and h_k = q F_k^(q-1) |L (given - trained)|^2 + L F_k^q,
// with L = 1 / learning rate, and the model moves by -sum w_k / sum h_k. Both are divided by L M^q here, M = loss_max,
// which no quotient sees. A device with loss F, at most M and at least kFairLossMin, and clipped update d sends
//
//   (F / M)^q d     and the scalar     fair_step = (F / M)^q + q L |d|^2 (F / M)^(q-1) / M
//
// and the server adds the mean of the first divided by the mean of the second.
#pragma once

#include <span>

#include "base/result.h"
#include "proto/messages/plan.h"
#include "proto/messages/running_statistics.h"

namespace coterie {

struct GivenFacts;

// What a device brings to the telling that its training does not.
struct TellingDevice {
  uint32_t group = 0;                   // of a plan with groups: which it is in, from 1
  std::span<const float> control = {};  // of a plan with groups: their weights and shares; empty: as in the first round
  uint32_t width_class = 0;             // of a plan with widths: which one was trained
  std::span<const float> watched = {};  // of a plan with a watch: its lanes (plan_watch.h)
};

inline constexpr double kFairLossMin = 1e-10;

// Scales the parameters' part of `update`, which is limited already, by the device's fair weight or its group's, and
// writes its last values, the scalars. `parameters` are places in it. Without either in the rules nothing changes.
// Errors: check_device's.
Status tell_scalars(const TrainingSettings& training, const UpdateRules& rules, std::span<const ValueRange> parameters,
                    const GivenFacts& given, const TellingDevice& device, std::span<float> update);

// refused if the plan's groups do not have that of the device: it has no weight then, and its update would be lost. So
// it is asked before the training. invalid_argument: check_group_weights.
Status check_device(const UpdateRules& rules, const TellingDevice& device);

}  // namespace coterie
