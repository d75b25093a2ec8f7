// `aggregation` of a job: what its rounds make of their updates.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/json/json_reader.h"
#include "scheduler/job/horizontal_settings.h"

namespace coterie {

// With a robust rule update.weight_max is 1 where the job does not say otherwise, and rounds.goal_count_min what the
// rule needs: so this is read before those.
void read_aggregation(JsonReader reader, HorizontalSettings& settings);

// Null for the mean: a server of the version before, beside this one, does not know the key.
nlohmann::json to_json(const AggregationSettings& aggregation);

}  // namespace coterie
