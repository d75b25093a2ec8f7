// Buffered rounds (ADR 114): what does not go with rounds.policy buffered, each pair by name, on one page.
#pragma once

#include "base/problem.h"
#include "proto/messages/model.h"
#include "proto/messages/staleness.h"
#include "scheduler/job/horizontal_settings.h"
#include "scheduler/job/settings_checker.h"

namespace coterie {

// What the settings say by themselves. Precondition: the strategy's values are as many as its settings.
void check_buffered(const HorizontalSettings& settings, SettingsChecker& check);

// Running statistics of batch norms have no place in a later round: they are no step, but where a device stood.
Problems buffered_problems(const HorizontalSettings& settings, const ModelGraph& graph);

// The plan's; of synchronous rounds there are none.
StalenessRules staleness_of(const RoundSettings& rounds);

}  // namespace coterie
