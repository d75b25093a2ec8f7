// `--adaptive-mu` of a demo: FedProx's mu follows the loss, in one word.
#pragma once

#include <string_view>

#include "base/result.h"
#include "scheduler/job/adaptive_mu_settings.h"

namespace coterie {

// "max=1", "max=1,step=0.1,falls=5": what is not said is as AdaptiveMuSettings has it. invalid_argument says what there
// is; ranges are for validate(settings) to judge.
Result<AdaptiveMuSettings> parse_adaptive_mu(std::string_view text);

}  // namespace coterie
