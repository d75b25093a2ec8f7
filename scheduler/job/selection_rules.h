// What does not go with a job's `selection`, each pair by name, on one page (ADR 128).
#pragma once

#include "scheduler/job/horizontal_settings.h"
#include "scheduler/job/settings_checker.h"

namespace coterie {

void check_selection(const HorizontalSettings& settings, SettingsChecker& check);

}  // namespace coterie
