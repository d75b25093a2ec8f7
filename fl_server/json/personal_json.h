// The job key training.personal (proto/messages/personal_settings.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/json/json_reader.h"
#include "proto/messages/plan.h"

namespace coterie {

// Ranges are for validate(settings) to judge.
void read_personal(JsonReader& reader, TrainingSettings& settings);
// Left out where there is none: a server of the version before, beside this one, does not know the key.
void add_personal(nlohmann::json& training, const TrainingSettings& settings);

}  // namespace coterie
