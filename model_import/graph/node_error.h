// What is wrong with a node, in words that name it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model_import/graph/graph.h"

namespace coterie::model_import {

Error unsupported(const Node& node, const std::string& why);  // invalid_argument, names the node
// The attribute or operand `axis` in [0, rank). Errors: malformed.
Result<uint32_t> axis_in(const Node& node, int64_t axis, size_t rank);

}  // namespace coterie::model_import
