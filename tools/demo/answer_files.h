// What a job with analytics has found, in the folder of a run: as the admin plane tells it, drawn, and as a table where
// columns were permuted.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"

namespace coterie {

class RunFolder;

struct LeftAnswer {
  std::string text;   // for people
  std::string files;  // their names: "result.json, chart.svg"
};

// malformed: it is no such answer. Errors: those of writing.
Result<LeftAnswer> leave_answer(const nlohmann::json& answer, const RunFolder& folder);

}  // namespace coterie
