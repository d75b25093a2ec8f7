// DeviceRequirements: in what state a device must be while it works for a job. An app asks for some, and so may a plan;
// both hold then (device_sdk/client/condition_gate.h).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/problem.h"
#include "base/result.h"

namespace coterie {

// How hot a device is, as platforms tell it: hotter is greater. unknown: nobody has said.
enum class ThermalState : uint8_t { unknown, nominal, fair, serious, critical };
inline constexpr std::array<std::string_view, 5> kThermalStateNames = {"unknown", "nominal", "fair", "serious",
                                                                       "critical"};

inline constexpr uint64_t kFreeMemoryBytesMax = 1ull << 40;  // that can be asked for

struct DeviceRequirements {
  bool idle = false;                                 // nobody uses it
  bool charging = false;                             // it has power from outside
  bool unmetered = false;                            // its network costs nothing by the byte
  bool foreground = false;                           // the app is what the user sees
  bool background = false;                           // the app is not
  uint8_t battery_percent_min = 0;                   // 0: any
  ThermalState thermal_max = ThermalState::unknown;  // unknown: any
  uint64_t free_memory_bytes_min = 0;                // 0: any
  friend bool operator==(const DeviceRequirements&, const DeviceRequirements&) = default;
};

// Ranges, and that they can be met at all; behind each pointer "/" and the field.
Problems problems_of(const DeviceRequirements& requirements);
// invalid_argument with the first of these.
Status validate(const DeviceRequirements& requirements);

}  // namespace coterie
