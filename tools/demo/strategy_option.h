// The demo's choice of a strategy: its settings, and what else it cannot go with.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace coterie {

struct DemoOptions;

// "q=1". invalid_argument: not a name, = and a number.
Result<std::pair<std::string, float>> parse_strategy_setting(std::string_view text);

// What the server would refuse (scheduler/job/correction_rules.h, scalar_rules.h), in the words of the demo's options.
Status check_strategy(const DemoOptions& options);

}  // namespace coterie
