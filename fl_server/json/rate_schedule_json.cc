#include "fl_server/json/rate_schedule_json.h"

#include <nlohmann/json.hpp>

namespace coterie {

void read_schedule(JsonReader& reader, RateSchedule& schedule) {
  JsonReader own = reader.object("schedule");
  auto kind = static_cast<size_t>(schedule.kind);
  own.read_choice("kind", rate_schedule_names(), kind);
  schedule.kind = static_cast<RateScheduleKind>(kind);
  own.read("warmup_rounds", schedule.warmup_rounds);
  own.read("period", schedule.period);
  own.read("gamma", schedule.gamma);
  own.read("min", schedule.min);
  own.finish();
}

void add_schedule(nlohmann::json& json, const RateSchedule& schedule) {
  if (schedule.is_constant()) return;
  nlohmann::json own = {{"kind", to_string(schedule.kind)}};
  if (schedule.warmup_rounds != 0) own["warmup_rounds"] = schedule.warmup_rounds;
  if (schedule.period != 0) own["period"] = schedule.period;
  if (schedule.gamma != 0) own["gamma"] = schedule.gamma;
  if (schedule.min != 0) own["min"] = schedule.min;
  json["schedule"] = std::move(own);
}

}  // namespace coterie
