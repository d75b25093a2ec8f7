// What training.watch (proto/messages/watch_settings.h) makes of a job, and what it cannot be combined with.
#pragma once

#include "proto/messages/model.h"
#include "scheduler/job/horizontal_settings.h"
#include "scheduler/job/settings_checker.h"

namespace coterie {

// Each problem names the other setting and the reason. Nothing is asked of jobs that are not watched.
void check_watch(const HorizontalSettings& settings, SettingsChecker& check);

// What can be said with the model alone: a check that is named and is for nothing of it would say that all is well.
Problems watch_problems(const HorizontalSettings& settings, const ModelGraph& graph);

}  // namespace coterie
