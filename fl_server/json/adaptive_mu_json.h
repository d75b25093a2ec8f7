// The job key training.adaptive_mu (scheduler/job/adaptive_mu_rules.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/json/json_reader.h"
#include "scheduler/job/horizontal_settings.h"

namespace coterie {

// Ranges are for validate(settings) to judge.
void read_adaptive_mu(JsonReader& reader, std::optional<AdaptiveMuSettings>& settings);
// Left out where there is none: a server of the version before, beside this one, does not know the key.
void add_adaptive_mu(nlohmann::json& training, const std::optional<AdaptiveMuSettings>& settings);

}  // namespace coterie
