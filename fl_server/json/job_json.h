// JobSettings as JSON: what operators send and read, and how the store keeps it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "scheduler/job/job_settings.h"

namespace coterie {

nlohmann::json to_json(const JobSettings& settings);

// The key `kind` names the alternative of KindSettings; absent, it is "horizontal". "vertical" is refused in a
// sentence.
//
// Reads what an operator sent; defaults for what is absent. `problems` gets everything wrong with form or values
// (validate(settings) included).
JobSettings job_settings_from_json(const nlohmann::json& json, Problems& problems);

std::string job_settings_to_json_text(const JobSettings& settings);
// data_loss if the text is not what job_settings_to_json_text wrote.
Result<JobSettings> job_settings_from_stored_json(std::string_view text);

}  // namespace coterie
