#include "fl_server/json/device_requirements_json.h"

#include <nlohmann/json.hpp>

namespace coterie {
namespace {

// The names from nominal on; "any", which is never written, is ThermalState::unknown.
constexpr std::string_view kThermalChoices[] = {"any", kThermalStateNames[1], kThermalStateNames[2],
                                                kThermalStateNames[3], kThermalStateNames[4]};

}  // namespace

void read_device_requirements(JsonReader reader, DeviceRequirements& requirements) {
  reader.read("idle", requirements.idle);
  reader.read("charging", requirements.charging);
  reader.read("unmetered", requirements.unmetered);
  reader.read("foreground", requirements.foreground);
  reader.read("background", requirements.background);
  uint32_t percent = requirements.battery_percent_min;
  reader.read("battery_percent_min", percent);
  // What does not fit is out of range either way.
  requirements.battery_percent_min = static_cast<uint8_t>(percent <= 100 ? percent : 255);
  auto thermal = static_cast<size_t>(requirements.thermal_max);
  reader.read_choice("thermal_max", kThermalChoices, thermal);
  requirements.thermal_max = static_cast<ThermalState>(thermal);
  reader.read("free_memory_bytes_min", requirements.free_memory_bytes_min);
  reader.finish();
}

void add_device_requirements(nlohmann::json& job, const DeviceRequirements& requirements) {
  nlohmann::json json = nlohmann::json::object();
  if (requirements.idle) json["idle"] = true;
  if (requirements.charging) json["charging"] = true;
  if (requirements.unmetered) json["unmetered"] = true;
  if (requirements.foreground) json["foreground"] = true;
  if (requirements.background) json["background"] = true;
  if (requirements.battery_percent_min != 0) json["battery_percent_min"] = requirements.battery_percent_min;
  if (requirements.thermal_max != ThermalState::unknown) {
    json["thermal_max"] = kThermalStateNames[static_cast<size_t>(requirements.thermal_max)];
  }
  if (requirements.free_memory_bytes_min != 0) json["free_memory_bytes_min"] = requirements.free_memory_bytes_min;
  if (!json.empty()) job["device_requirements"] = std::move(json);
}

}  // namespace coterie
