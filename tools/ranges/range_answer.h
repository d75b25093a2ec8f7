// The answer of a job with analytics of kind activation_ranges (docs/operating/ranges.md), read again: from a file that
// `coterie job result JOB -o json`, a demo or a simulation has left.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/ranges/range_histogram.h"

namespace coterie {

inline constexpr uint64_t kRangeAnswerBytesMax = 16 << 20;

bool is_range_answer(const nlohmann::json& answer);

// malformed: it is no such answer, or its counts are not those of its bins.
Result<CountedRanges> parse_ranges(const nlohmann::json& answer);
// The same of a text.
Result<CountedRanges> read_ranges(std::string_view text);

// For people: the range of each tensor, in lines of at most 80 columns. Names are printable in it. Errors: likewise.
Result<std::string> ranges_text(const nlohmann::json& answer);

}  // namespace coterie
