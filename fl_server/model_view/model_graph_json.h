// A model's ops as the admin plane and the console show them (ModelGraph of docs/openapi.json): who reads what, in
// which shape and block, with how many parameters. The head of a file is enough: no value is read. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "proto/messages/model.h"

namespace coterie {

// What is told of one model: the first ops within both limits, and how many more there are.
inline constexpr size_t kShownOpsMax = 2'048;
inline constexpr size_t kShownOperandsMax = 65'536;  // inputs and outputs of these ops together

// The graph has passed decode_model_head. Errors: malformed and too_large, with the op's name, where shapes do not fit.
Result<nlohmann::json> model_graph_json(const ModelGraph& graph);

}  // namespace coterie
