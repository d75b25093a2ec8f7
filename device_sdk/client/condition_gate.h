// The conditions gate: whether a device is in the state that its app and the plan ask for. Pure.
//
// Both hold at once: a plan can ask for more than the app, and lowers nothing of the app's. What nobody has said of the
// device is not the case. A gate that is shut names one of refusal_reason::kHolds, the first in their order.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "proto/messages/device_requirements.h"

namespace coterie {

enum class ConditionAnswer : uint8_t { unknown, no, yes };

// What the app says of its device now.
struct DeviceConditions {
  ConditionAnswer idle = ConditionAnswer::unknown;
  ConditionAnswer charging = ConditionAnswer::unknown;
  ConditionAnswer unmetered = ConditionAnswer::unknown;
  ConditionAnswer foreground = ConditionAnswer::unknown;
  uint8_t battery_percent = 0;  // 0: unknown
  ThermalState thermal = ThermalState::unknown;
  uint64_t free_memory_bytes = 0;  // 0: unknown
  friend bool operator==(const DeviceConditions&, const DeviceConditions&) = default;
};

// What is asked for where both are: of each member the stricter.
DeviceRequirements combined(const DeviceRequirements& of_app, const DeviceRequirements& of_plan);

// refused, with the reason and a sentence, if something that is required is not the case.
Status check_conditions(const DeviceRequirements& required, const DeviceConditions& seen);

}  // namespace coterie
