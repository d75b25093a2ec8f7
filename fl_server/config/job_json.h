// JobSpec as JSON: what operators send and read, and how the store keeps it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "scheduler/job/job_spec.h"

namespace coterie {

nlohmann::json to_json(const JobSpec& spec);

// Reads what an operator sent; defaults for what is absent. `problems` gets everything wrong with form or values
// (validate(spec) included).
JobSpec job_spec_from_json(const nlohmann::json& json, Problems& problems);

std::string job_spec_to_json_text(const JobSpec& spec);
// data_loss if the text is not what job_spec_to_json_text wrote.
Result<JobSpec> job_spec_from_stored_json(std::string_view text);

}  // namespace coterie
