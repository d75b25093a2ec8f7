// q-FFL (Li et al. 2020, "Fair Resource Allocation in Federated Learning", algorithm 2, q-FedAvg): a device weighs by
// the power q of what the given model loses on its examples, so that those whom the model serves badly move it more.
//
// The paper's sums are over w_k = F_k^q L (given - trained) and h_k = q F_k^(q-1) |L (given - trained)|^2 + L F_k^q,
// with L = 1 / learning rate, and the model moves by -sum w_k / sum h_k. Both are divided by L M^q here, M = loss_max,
// which no quotient sees. A device with loss F, at most M and at least kFairLossMin, and clipped update d sends
//
//   (F / M)^q d     and the scalar     fair_step = (F / M)^q + q L |d|^2 (F / M)^(q-1) / M
//
// and the server adds the mean of the first divided by the mean of the second.
#pragma once

#include <cstdint>

namespace coterie {

struct FairWeight {
  float q = 0;
  float loss_max = 0;  // 0: devices weigh as ever
  bool is_on() const { return loss_max > 0; }
  friend bool operator==(const FairWeight&, const FairWeight&) = default;
};

inline constexpr float kFairPowerMax = 10, kFairLossMax = 1e6f;
inline constexpr double kFairLossMin = 1e-10;
inline constexpr float kFairStepMax = 1024;  // bound of the scalar

}  // namespace coterie
