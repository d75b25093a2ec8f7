// What a strategy whose devices keep state asks of a job (proto/messages/drift_correction.h), and what it cannot be
// combined with.
#pragma once

#include "aggregation/strategy/strategy_settings.h"
#include "scheduler/job/horizontal_settings.h"
#include "scheduler/job/settings_checker.h"

namespace coterie {

// What the plan of a job with this strategy tells its devices.
DriftCorrection correction_of(const StrategySettings& strategy);

// Each problem names the other setting and the reason. Nothing is asked of strategies without a correction.
void check_correction(const HorizontalSettings& settings, SettingsChecker& check);

}  // namespace coterie
