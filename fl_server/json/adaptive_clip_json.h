// The job key privacy.adaptive_clip (scheduler/job/adaptive_clip_rules.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/json/json_reader.h"
#include "scheduler/job/horizontal_settings.h"

namespace coterie {

// Ranges are for validate(settings) to judge.
void read_adaptive_clip(JsonReader& reader, PrivacySettings& settings);
// Left out where there is none: a server of the version before, beside this one, does not know the key.
void add_adaptive_clip(nlohmann::json& privacy, const PrivacySettings& settings);

}  // namespace coterie
