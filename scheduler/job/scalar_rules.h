// What a strategy that asks devices for scalars (proto/messages/update_scalars.h) makes of a job, and what it cannot be
// combined with.
#pragma once

#include <vector>

#include "scheduler/job/horizontal_settings.h"
#include "scheduler/job/settings_checker.h"

namespace coterie {

// The scalars of the job's plan. A norm's bound is the lower one of strategy.norm_max and update.clip_l2.
std::vector<ScalarRule> scalars_of(const HorizontalSettings& settings);
// The power of their loss that devices weigh their updates by, too. Only a strategy with the scalar fair_step has it,
// by its settings `q` and `loss_max`; is_on() is false otherwise.
FairWeight fair_weight_of(const StrategySettings& strategy);

// Each problem names the other setting and the reason. Nothing is asked of strategies without scalars.
void check_scalars(const HorizontalSettings& settings, SettingsChecker& check);

}  // namespace coterie
