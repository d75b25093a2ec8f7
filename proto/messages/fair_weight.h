// FairWeight: with q-FFL a device also weighs its update by its loss to the power q (device_sdk/agent/told_scalars.h).
#pragma once

namespace coterie {

struct FairWeight {
  float q = 0;
  float loss_max = 0;  // larger ones weigh as this; 0: devices weigh as ever
  bool is_on() const { return loss_max > 0; }
  friend bool operator==(const FairWeight&, const FairWeight&) = default;
};

inline constexpr float kFairPowerMax = 10, kFairLossMax = 1e6f;

}  // namespace coterie
