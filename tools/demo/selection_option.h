// `--selection` of a demo: a rule and its settings in one word.
#pragma once

#include <string_view>

#include "base/result.h"
#include "scheduler/selection/selection_settings.h"

namespace coterie {

// "uniform", or "utility:exploration=0.1"; several settings are joined by commas. invalid_argument says what there is.
Result<SelectionSettings> parse_selection(std::string_view text);

}  // namespace coterie
