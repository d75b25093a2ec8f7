// What the heads of a job's training have come to, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "scheduler/job/evaluated_head.h"

namespace coterie {

// [{"output": "class", "loss": 0.3, "accuracy": 0.9}, {"output": "age", "loss": 0.1, "mae": 0.2}]: figures that a head
// has not are left out.
nlohmann::json to_json(const std::vector<EvaluatedHead>& heads);

// What a model, a round or an event has under `evaluation_heads`; none: it has no such key. Throws what nlohmann does.
std::vector<EvaluatedHead> evaluated_heads_in(const nlohmann::json& json);

}  // namespace coterie
