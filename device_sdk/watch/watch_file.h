// Watch files: a WatchPlan as people write it, in JSON.
//
//   {"every": 10, "checks": [{"check": "weight_change_too_large", "tensors": "conv*", "ratio_above": 0.5}]}
//
// docs/DEBUGGING.md has the keys; a check's settings are those of its row (check.h).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "device_sdk/watch/watch_plan.h"

namespace coterie {

// Errors name every key that is wrong, and the file.
Result<WatchPlan> parse_watch(std::string_view text);
Result<WatchPlan> read_watch_file(const std::string& path);

// Each check with what it reads, when it fires, and its settings: Markdown, as in docs/DEBUGGING.md.
std::string check_table();

}  // namespace coterie
