#include "device_sdk/client/condition_gate.h"

#include <algorithm>
#include <string>

#include "proto/messages/refusal.h"

namespace coterie {
namespace {

Error shut(std::string_view reason, const std::string& what) {
  return Error(ErrorCode::refused, "held back: " + what, reason);
}

std::string name_of(ThermalState state) { return std::string(kThermalStateNames[static_cast<size_t>(state)]); }

Status check_answer(bool is_required, ConditionAnswer seen, ConditionAnswer wanted, std::string_view reason,
                    const char* what) {
  if (!is_required || seen == wanted) return {};
  return shut(reason,
              std::string(what) + (seen == ConditionAnswer::unknown ? " is asked for, and the app has not said whether"
                                                                    : " is asked for, and it is not so"));
}

}  // namespace

DeviceRequirements combined(const DeviceRequirements& of_app, const DeviceRequirements& of_plan) {
  DeviceRequirements both{
      .idle = of_app.idle || of_plan.idle,
      .charging = of_app.charging || of_plan.charging,
      .unmetered = of_app.unmetered || of_plan.unmetered,
      .foreground = of_app.foreground || of_plan.foreground,
      .background = of_app.background || of_plan.background,
      .battery_percent_min = std::max(of_app.battery_percent_min, of_plan.battery_percent_min),
      .thermal_max = std::min(of_app.thermal_max, of_plan.thermal_max),
      .free_memory_bytes_min = std::max(of_app.free_memory_bytes_min, of_plan.free_memory_bytes_min)};
  // `unknown` asks for nothing, and is the least.
  if (both.thermal_max == ThermalState::unknown) both.thermal_max = std::max(of_app.thermal_max, of_plan.thermal_max);
  return both;
}

Status check_conditions(const DeviceRequirements& required, const DeviceConditions& seen) {
  COT_TRY(check_answer(required.idle, seen.idle, ConditionAnswer::yes, refusal_reason::kIdle, "an idle device"));
  COT_TRY(check_answer(required.charging, seen.charging, ConditionAnswer::yes, refusal_reason::kCharging, "charging"));
  COT_TRY(check_answer(required.unmetered, seen.unmetered, ConditionAnswer::yes, refusal_reason::kUnmetered,
                       "an unmetered network"));
  COT_TRY(check_answer(required.foreground, seen.foreground, ConditionAnswer::yes, refusal_reason::kForeground,
                       "an app in the foreground"));
  COT_TRY(check_answer(required.background, seen.foreground, ConditionAnswer::no, refusal_reason::kBackground,
                       "an app in the background"));
  if (required.battery_percent_min > 0 && seen.battery_percent < required.battery_percent_min) {
    return shut(refusal_reason::kBattery,
                "a battery of " + std::to_string(required.battery_percent_min) + " % is asked for" +
                    (seen.battery_percent == 0 ? ", and the app has not said what it has"
                                               : ", it has " + std::to_string(seen.battery_percent) + " %"));
  }
  if (required.thermal_max != ThermalState::unknown &&
      (seen.thermal == ThermalState::unknown || seen.thermal > required.thermal_max)) {
    return shut(refusal_reason::kThermal, "a thermal state of " + name_of(required.thermal_max) +
                                              " at most is asked for, it is " + name_of(seen.thermal));
  }
  if (seen.free_memory_bytes < required.free_memory_bytes_min) {
    return shut(refusal_reason::kFreeMemory,
                "free memory of " + std::to_string(required.free_memory_bytes_min) + " bytes is asked for" +
                    (seen.free_memory_bytes == 0 ? ", and the app has not said what there is"
                                                 : ", there are " + std::to_string(seen.free_memory_bytes)));
  }
  return {};
}

}  // namespace coterie
