// What a job that evaluates models has found, as the admin plane tells it, for people, in lines of at most 80 columns.
// Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"

namespace coterie {

// Whether the answer of /jobs/{job}/result is one of these.
bool is_evaluation(const nlohmann::json& answer);

// malformed: not such an answer. Names are printable in it.
Result<std::string> evaluation_text(const nlohmann::json& answer);

// What columns are worth to the model. invalid_argument: the job asked for no importance.
Result<std::string> draw_evaluation(const nlohmann::json& answer);

}  // namespace coterie
