#include "device_sdk/c_api/conditions.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "device_sdk/c_api/structs.h"
#include "proto/messages/refusal.h"
#include "proto/messages/width_share.h"

namespace coterie {
namespace {

// The C interface's numbers are those of the wire, and of the order of reasons.
static_assert(COTERIE_THERMAL_NOMINAL == static_cast<int>(ThermalState::nominal));
static_assert(COTERIE_THERMAL_CRITICAL == static_cast<int>(ThermalState::critical));
static_assert(COTERIE_ANSWER_NO == static_cast<int>(ConditionAnswer::no) &&
              COTERIE_ANSWER_YES == static_cast<int>(ConditionAnswer::yes));
static_assert(refusal_reason::kHolds.size() == COTERIE_HOLD_ENERGY_BUDGET);

constexpr uint64_t kTrainingBytesMax = 1ull << 50;

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

// `amount` of units, counted in so many parts of one; too much for uint64_t is refused later as out of range.
Result<uint64_t> parts_of(double amount, double parts, const char* name) {
  if (!(amount >= 0) || std::isinf(amount))
    return bad(std::string("requirements: ") + name + " must be finite and >= 0");
  const double product = std::floor(amount * parts);
  if (amount > 0 && product < 1) return bad(std::string("requirements: ") + name + " is less than can be counted");
  return static_cast<uint64_t>(std::min(product, 9e18));
}

}  // namespace

Result<AppRequirements> requirements_of(const coterie_requirements* given) {
  AppRequirements app;
  if (given == nullptr) return app;
  COT_ASSIGN(const coterie_requirements known, known_part(given, "options.requirements"));
  app.required = {.idle = known.idle != 0,
                  .charging = known.charging != 0,
                  .unmetered = known.unmetered != 0,
                  .foreground = known.foreground != 0,
                  .background = known.background != 0,
                  .battery_percent_min = static_cast<uint8_t>(std::min<uint32_t>(known.battery_percent_min, UINT8_MAX)),
                  .thermal_max = static_cast<ThermalState>(std::min<uint32_t>(known.thermal_max, UINT8_MAX)),
                  .free_memory_bytes_min = known.free_memory_bytes_min};
  COT_ASSIGN(app.limits.work.cpu_us, parts_of(known.cpu_seconds_per_day, 1e6, "cpu_seconds_per_day"));
  app.limits.work.upload_bytes = known.upload_bytes_per_day;
  app.limits.work.download_bytes = known.download_bytes_per_day;
  COT_ASSIGN(app.limits.energy_mj, parts_of(known.joules_per_day, 1e3, "joules_per_day"));
  COT_ASSIGN(const uint64_t power_mw, parts_of(known.watts, 1e3, "watts"));
  app.limits.power_mw = static_cast<uint32_t>(std::min<uint64_t>(power_mw, UINT32_MAX));
  if (known.width_max != 0) {
    const std::optional<uint32_t> width = width_of(known.width_max);
    if (!width) return bad("requirements: width_max must be in (0, 1]");
    app.widths.width_max = *width;
  }
  if (known.training_bytes_max > kTrainingBytesMax) {
    return bad("requirements: training_bytes_max must be at most 2^50 bytes");
  }
  app.widths.training_bytes_max = known.training_bytes_max;
  if (const Status good = validate(app.required); !good) return bad("requirements: " + good.error().message());
  if (const Status good = validate(app.limits); !good) return bad("requirements: " + good.error().message());
  return app;
}

Result<DeviceConditions> conditions_of(const coterie_conditions* given) {
  COT_ASSIGN(const coterie_conditions known, known_part(given, "conditions"));
  for (const auto& [name, answer] : {std::pair("idle", known.idle),
                                     {"charging", known.charging},
                                     {"unmetered", known.unmetered},
                                     {"foreground", known.foreground}}) {
    if (answer > COTERIE_ANSWER_YES) return bad(std::string("conditions: ") + name + " must be a coterie_answer");
  }
  if (known.battery_percent > 100) return bad("conditions: battery_percent must be in [0, 100]");
  if (known.thermal > COTERIE_THERMAL_CRITICAL) return bad("conditions: thermal must be a coterie_thermal");
  return DeviceConditions{.idle = static_cast<ConditionAnswer>(known.idle),
                          .charging = static_cast<ConditionAnswer>(known.charging),
                          .unmetered = static_cast<ConditionAnswer>(known.unmetered),
                          .foreground = static_cast<ConditionAnswer>(known.foreground),
                          .battery_percent = static_cast<uint8_t>(known.battery_percent),
                          .thermal = static_cast<ThermalState>(known.thermal),
                          .free_memory_bytes = known.free_memory_bytes};
}

coterie_hold hold_of(std::string_view reason) {
  const auto& holds = refusal_reason::kHolds;
  const auto found = std::find(holds.begin(), holds.end(), reason);
  return found == holds.end() ? COTERIE_HOLD_NONE : static_cast<coterie_hold>(found - holds.begin() + 1);
}

}  // namespace coterie

extern "C" const char* coterie_hold_name(coterie_hold hold) {
  const auto& holds = coterie::refusal_reason::kHolds;
  if (hold == COTERIE_HOLD_NONE) return "none";
  const auto index = static_cast<size_t>(hold) - 1;
  return index < holds.size() ? holds[index].data() : "unknown";
}
