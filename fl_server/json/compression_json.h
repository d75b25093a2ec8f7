// The job key update.compression (scheduler/job/compression_rules.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/json/json_reader.h"
#include "scheduler/job/horizontal_settings.h"

namespace coterie {

// Before update.weight_max, whose default it decides. Ranges are for validate(settings) to judge.
void read_compression(JsonReader& update, UpdateSettings& settings);
// Left out where it says nothing: a server of the version before, beside this one, does not know the key.
void add_compression(nlohmann::json& update, const CompressionSettings& compression);

}  // namespace coterie
