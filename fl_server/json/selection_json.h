// `selection` of a job: who of the waiting devices its rounds take.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/json/json_reader.h"
#include "scheduler/selection/selection_settings.h"

namespace coterie {

void read_selection(JsonReader reader, SelectionSettings& selection);

// Adds nothing for uniform: a server of the version before, beside this one, does not know the key.
void add_selection(nlohmann::json& json, const SelectionSettings& selection);

}  // namespace coterie
