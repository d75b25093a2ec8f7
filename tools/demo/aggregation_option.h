// `--aggregation` of a demo: a rule and its settings in one word.
#pragma once

#include <string_view>

#include "base/result.h"
#include "tools/demo/options.h"

namespace coterie {

// "median", or "trimmed_mean:liars_max=3"; several settings are joined by commas. invalid_argument says what there is.
Result<AggregationSettings> parse_aggregation(std::string_view text);

// Why the server would refuse it with these options; OK if it would not.
Status check_aggregation(const DemoOptions& options);

// What the rule may cost on data that differ so much from device to device; empty: nothing to be said.
std::string skew_warning(const DemoOptions& options);

}  // namespace coterie
