// Which shapes a model takes, for whichever protocol they came by. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fl_server/serving/model_interface.h"

namespace coterie {

constexpr size_t kShapeRankMax = 16;  // dimensions of an input in a request

struct InferLimits {
  uint64_t rows_max = 1024;  // examples of one request
};

// Takes the number of examples from the first dimension of `shape`, for `rows` that are 0 or those of the input before.
// invalid_argument (not the input's shape, no example, another number than before), too_large.
Status take_rows(const TensorInterface& input, std::span<const uint64_t> shape, const InferLimits& limits,
                 uint64_t& rows);

// A name as an error shows it: as JSON, cut where a character begins.
std::string shown_name(std::string_view name);

}  // namespace coterie
