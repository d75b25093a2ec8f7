#include "proto/messages/device_requirements.h"

namespace coterie {

Problems problems_of(const DeviceRequirements& requirements) {
  Problems problems;
  const auto require = [&](bool holds, const char* pointer, const char* detail) {
    if (!holds) problems.push_back({pointer, detail});
  };
  require(requirements.battery_percent_min <= 100, "/battery_percent_min", "must be in [0, 100]");
  require(requirements.thermal_max <= ThermalState::critical, "/thermal_max",
          "must be nominal, fair, serious or critical");
  require(requirements.free_memory_bytes_min <= kFreeMemoryBytesMax, "/free_memory_bytes_min", "must be in [0, 2^40]");
  require(!(requirements.foreground && requirements.background), "/background",
          "must not be asked for beside foreground: no app is in both");
  return problems;
}

Status validate(const DeviceRequirements& requirements) {
  const Problems problems = problems_of(requirements);
  if (problems.empty()) return {};
  return Error(ErrorCode::invalid_argument, problems.front().pointer.substr(1) + " " + problems.front().detail);
}

}  // namespace coterie
