// `schedule` in a job's JSON: how a learning rate changes from round to round (scheduler/job/rate_schedule.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/json/json_reader.h"
#include "scheduler/job/rate_schedule.h"

namespace coterie {

// The object under `schedule` of what `reader` reads; an absent one is a constant rate.
void read_schedule(JsonReader& reader, RateSchedule& schedule);

// Puts it under `schedule`; nothing where it says nothing: a server of the version before does not know the key.
void add_schedule(nlohmann::json& json, const RateSchedule& schedule);

}  // namespace coterie
