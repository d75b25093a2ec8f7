// The job key training.lora (proto/messages/lora_settings.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/json/json_reader.h"
#include "proto/messages/plan.h"

namespace coterie {

// alpha is the rank unless given, the seed of A 0. Ranges are for validate(settings) to judge.
void read_lora(JsonReader& reader, TrainingSettings& settings);
// Left out where there is none: a server of the version before, beside this one, does not know the key.
void add_lora(nlohmann::json& training, const TrainingSettings& settings);

}  // namespace coterie
