// What a strategy that asks devices for scalars (proto/messages/update_scalars.h) makes of a job, and what it cannot be
// combined with.
#pragma once

#include <vector>

#include "scheduler/job/horizontal_settings.h"
#include "scheduler/job/settings_checker.h"

namespace coterie {

// Of the job's plan. A norm's bound is the lower one of strategy.norm_max and update.clip_l2.
std::vector<ScalarRule> scalars_of(const HorizontalSettings& settings);
// By what devices weigh beside: of the strategies with the scalar fair_step, which have settings `q` and `loss_max`.
FairWeight fair_weight_of(const StrategySettings& strategy);

// Each problem names the other setting and the reason. Nothing is asked of strategies without scalars.
void check_scalars(const HorizontalSettings& settings, SettingsChecker& check);

}  // namespace coterie
